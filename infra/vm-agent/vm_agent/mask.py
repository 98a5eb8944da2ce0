"""Keeps the values of secrets out of everything that leaves the program: its lines, and what the agent says of it."""

import json
from typing import Set, Tuple
from urllib.parse import quote

SHOWN = '***'
# Shorter ones would turn half of a log into stars, and are no secrets.
HIDDEN_CHARS_MIN = 4


class Mask:
    """Puts SHOWN in the place of every value that it was told to hide. Safe to use from several threads."""

    def __init__(self) -> None:
        self._hidden: Tuple[str, ...] = ()

    @property
    def chars_max(self) -> int:
        """The length of the longest text that is hidden; 0 for none."""
        return len(self._hidden[0]) if self._hidden else 0

    def hide(self, value: str) -> None:
        """A value of several lines is hidden line by line, since it is logged so; also as JSON and URLs write it."""
        # JSON and URLs write the whole of it in one line.
        texts = {value.strip(), *(line.strip() for line in value.splitlines())}
        spellings: Set[str] = set(self._hidden)
        for text in texts:
            if len(text) >= HIDDEN_CHARS_MIN:
                spellings |= {text, _in_json(text, True), _in_json(text, False), quote(text), quote(text, safe='')}
        # The longest first: one value may begin as another does.
        self._hidden = tuple(sorted(spellings, key=len, reverse=True))

    def __call__(self, text: str) -> str:
        for hidden in self._hidden:
            text = text.replace(hidden, SHOWN)
        return text


def _in_json(text: str, is_ascii: bool) -> str:
    return json.dumps(text, ensure_ascii=is_ascii)[1:-1]
