"""
Losses in the log that are not finite, in the forms that frameworks print: Keras `loss: nan`, HF `'loss': 'nan'`,
Lightning `train_loss=nan.0`, `Loss is nan`, `Model diverged with loss = NaN`, Keras' TerminateOnNaN and others.

Only names with `loss` count: a metric like AUC is undefined for data of one class, and a norm of gradients is infinite in
the first steps of mixed precision. `val_loss improved from inf` and `best_loss: inf` are no reports.
"""

import re
from typing import List, NamedTuple, Optional

from vm_agent.health.loss_names import is_loss

# Of one block: its end is looked at, so that a flood of output costs no more than a program that prints normally.
BLOCK_BYTES_MAX = 65_536
LINE_BYTES_MAX = 400
REPORTS_MAX = 20
HINTS = (b'nan', b'NaN', b'NAN', b'inf', b'Inf', b'nvalid loss')
_NUMBER = rb'[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)'
_NOT_FINITE = rb'[-+]?(?:[nN][aA][nN]|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)(?:\.0)?'
# After the name: its separator, and wrappers such as `tensor(`. A single space separates only before the end of the
# line or a number, as in `Loss nan (nan)`: `loss nan filter` is prose.
_SEPARATOR = rb'(?P<rest>[\w./-]{0,40})["\']?(?:[ \t]{0,4}(?:[:=]|\b(?:is|became|has become|went)\b)[ \t]{0,4}|(?P<space>[ ]))'
_WRAPPER = rb'["\'(\[]{0,2}(?:(?:tensor|array|Tensor|np\.float\d\d|Array)\([\[ ]?)?'
REPORT = re.compile(rb'[lL][oO][sS][sS]' + _SEPARATOR + _WRAPPER + rb'(?P<value>' + _NOT_FINITE + rb')(?![\w-])')
FINITE = re.compile(rb'[lL][oO][sS][sS]' + _SEPARATOR + _WRAPPER + rb'(?P<value>' + _NUMBER + rb')(?![\w-])')
PHRASE = re.compile(rb'NaN loss (?:during training|encountered|detected)|Invalid loss, terminating training')
PHRASE_HINTS = (b'NaN loss', b'nvalid loss')
AFTER_SPACE = re.compile(rb'[ \t]*(?:$|[\r\n(,;|\t]|[A-Z]\w* [-+\d])')
KEY_START = re.compile(rb'[\w./-]{0,40}$')


class LossReport(NamedTuple):
    key: str
    line: str
    """The text around it, of one line."""
    is_state: bool
    """Whether it is a state of a progress bar, which shows one value many times."""


def find_not_finite(block: bytes) -> List[LossReport]:
    """Returns the reports of a block, one for each line or state of a progress bar, at most REPORTS_MAX, the last ones."""
    block = block[-BLOCK_BYTES_MAX:]
    # Most blocks end here: searching for plain bytes costs a tenth of a pattern.
    if b'oss' not in block and b'OSS' not in block or not any(hint in block for hint in HINTS):
        return []
    found: List[LossReport] = []
    patterns = (REPORT, PHRASE) if any(hint in block for hint in PHRASE_HINTS) else (REPORT,)
    for pattern in patterns:
        line_end = -1
        for match in pattern.finditer(block):
            if match.start() < line_end:
                continue
            report = _read(block, match)
            if report is not None:
                found.append(report)
                line_end = _line_end(block, match.end())
    return found[-REPORTS_MAX:]


def contains_finite(block: bytes) -> bool:
    """Whether a loss of the block, before the first that is not, is finite."""
    block = block[-4_096:]
    finite, bad = FINITE.search(block), REPORT.search(block)
    return finite is not None and (bad is None or finite.start() < bad.start())


def has_finite(block: bytes) -> bool:
    """Whether the last loss of the block is finite."""
    block = block[-4_096:]
    last = None
    for last in FINITE.finditer(block):
        pass
    return last is not None and _key_of(block, last) is not None and REPORT.search(block, last.end()) is None


def _read(block: bytes, match: 're.Match[bytes]') -> Optional[LossReport]:
    key: Optional[str] = 'loss'
    if match.re is REPORT:
        key = _key_of(block, match)
        if key is None or (match.group('space') is not None and not AFTER_SPACE.match(block, match.end())):
            return None
    line_start = max(block.rfind(b'\n', 0, match.start()), block.rfind(b'\r', 0, match.start())) + 1
    line_end = _line_end(block, match.end())
    follows = block[line_end : line_end + 2]
    is_state = block[line_start - 1 : line_start] == b'\r' or (follows[:1] == b'\r' and follows != b'\r\n')
    start = max(line_start, match.start() - LINE_BYTES_MAX // 2)
    text = block[start : min(line_end, start + LINE_BYTES_MAX)].decode('utf-8', 'replace').strip()
    return LossReport(key or 'loss', text, is_state)


def _key_of(block: bytes, match: 're.Match[bytes]') -> Optional[str]:
    """Returns the whole name that ends with the match, or None if it is not that of a loss."""
    before = KEY_START.search(block[max(0, match.start() - 40) : match.start()])
    start = match.start() if before is None else match.start() - len(before.group())
    key = block[start : match.end('rest')].decode('ascii', 'replace').strip('.-/')
    word = block[max(0, start - 12) : start].decode('ascii', 'replace').rpartition(' ')[0].rpartition(' ')[2]
    return key if is_loss(f'{word}_{key}') else None


def _line_end(block: bytes, start: int) -> int:
    ends = [end for end in (block.find(b'\n', start), block.find(b'\r', start)) if end >= 0]
    return min(ends, default=len(block))
