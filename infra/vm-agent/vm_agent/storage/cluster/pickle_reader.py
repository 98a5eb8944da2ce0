"""Reads what a pickle says, without importing, creating or calling anything that it names."""

import io
import pickletools
from typing import Any, Dict, List, Tuple

# An index of 20 MB has 3.5 million.
KEPT_MAX = 6_000_000
# An entry of an index has five at most. Many entries may be one object with many attributes.
ATTRIBUTES_MAX = 32
_ACTIONS = {
    **dict.fromkeys(('STOP', 'MARK', 'BUILD'), ''),
    **dict.fromkeys(('BINGET', 'LONG_BINGET'), 'GET'),
    **dict.fromkeys(('MEMOIZE', 'BINPUT', 'LONG_BINPUT'), 'PUT'),
    **dict.fromkeys(('SETITEM', 'SETITEMS'), 'SET'),
    **dict.fromkeys(('APPEND', 'APPENDS', 'ADDITEMS'), 'IGNORE'),
}


class Built(List[Any]):
    """A dict, as its keys and values in turn; or an object of any class, with its attributes as such a dict."""

    __slots__ = ('attributes',)

    def __init__(self) -> None:
        self.attributes: Any = None

    def find(self, name: str) -> Any:
        """Returns the attribute of that name; None if there is none among the first ATTRIBUTES_MAX."""
        pairs = self.attributes[: 2 * ATTRIBUTES_MAX] if isinstance(self.attributes, Built) else ()
        return next((pairs[i + 1] for i in range(0, len(pairs), 2) if type(pairs[i]) is str and pairs[i] == name), None)


def _describe(opcode: pickletools.OpcodeInfo) -> Tuple[str, Any, int, bool, int]:
    """Returns the action, the reader of the argument, how many operands are taken, also to the last mark?, and results."""
    before, result = opcode.stack_before, opcode.stack_after[:1]
    action = _ACTIONS.get(opcode.name, '') or opcode.name
    if opcode.name not in _ACTIONS:
        is_value = result in ([pickletools.pyunicode], [pickletools.pyint])
        is_new = result in ([pickletools.pydict], [pickletools.anyobject])
        action = 'VALUE' if is_value else 'NEW' if is_new else 'OTHER'
    to_mark = pickletools.markobject in before
    below = before.index(pickletools.markobject) if to_mark else len(before)
    # The first operand of these remains on the stack.
    kept = 1 if action in ('BUILD', 'PUT', 'SET', 'IGNORE') else 0
    return action, opcode.arg.reader if opcode.arg else None, below - kept, to_mark, len(opcode.stack_after)


# Without the opcodes that have decimal digits, which take quadratic time: protocols from 2 do not have them.
_STEPS = {
    opcode.code.encode('latin-1'): _describe(opcode)
    for opcode in pickletools.opcodes
    if not (opcode.arg and opcode.arg.name.startswith('decimalnl'))
}


def read_pickle(body: bytes) -> Any:
    """
    Returns a Built, a string or an integer; None in the place of every other value. Raises ValueError, KeyError or
    IndexError if the pickle is not valid or too large. Nothing is recursive or copied: time and memory grow with
    the length alone, by 0.2 s and 20 MB for each MB of an index of torch.
    """
    stream = io.BytesIO(body)
    stack: List[Any] = []
    marks: List[int] = []
    memo: Dict[int, Any] = {}
    built = 0
    while True:
        action, read, operands, to_mark, results = _STEPS[stream.read(1)]
        argument: Any = read(stream) if read else None
        if action == 'GET':
            stack.append(memo[argument])
        elif action == 'VALUE':
            stack.append(argument)
        elif action == 'STOP':
            return stack.pop()
        elif len(memo) + len(marks) + built > KEPT_MAX:
            raise ValueError(f'more than {KEPT_MAX} objects')
        elif action == 'MARK':
            marks.append(len(stack))
        elif action == 'PUT':
            memo[len(memo) if argument is None else argument] = stack[-1]
        else:
            start = (marks.pop() if to_mark else len(stack)) - operands
            taken = stack[max(0, start) :]
            del stack[max(0, start) :]
            if action == 'NEW':
                stack.append(Built())
                built += 1
            elif action == 'OTHER':
                stack += [None] * results
            elif action == 'SET' and isinstance(stack[-1], Built):
                stack[-1].extend(taken)
            elif action == 'BUILD' and isinstance(stack[-1], Built):
                stack[-1].attributes = taken[0]
