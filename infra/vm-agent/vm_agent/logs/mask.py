"""Masks the values of secrets in everything that leaves the VM: the program's lines and the agent's own messages."""

import json
from typing import Set, Tuple
from urllib.parse import quote

REPLACEMENT = '***'
REPLACEMENT_BYTES = REPLACEMENT.encode()
# Masking shorter values would make logs unreadable, and they are too short to be secrets.
MASKED_CHARS_MIN = 4


class Mask:
    """Replaces every occurrence of the values added to it. Thread-safe."""

    def __init__(self) -> None:
        self._masked: Tuple[str, ...] = ()
        self._masked_bytes: Tuple[bytes, ...] = ()

    @property
    def bytes_max(self) -> int:
        """The length of the longest masked text in UTF-8; 0 if there is none."""
        return len(self._masked_bytes[0]) if self._masked_bytes else 0

    def add(self, value: str) -> None:
        """
        Masks a value from now on, also as JSON and URLs encode it. A value of several lines is masked line by line, as
        it is logged.
        """
        # JSON and URLs encode all lines into one.
        texts = {value.strip(), *(line.strip() for line in value.splitlines())}
        encodings: Set[str] = set(self._masked)
        for text in texts:
            if len(text) >= MASKED_CHARS_MIN:
                encodings |= {text, _to_json(text, True), _to_json(text, False), quote(text), quote(text, safe='')}
        # The longest first: one value may be a prefix of another.
        self._masked = tuple(sorted(encodings, key=len, reverse=True))
        self._masked_bytes = tuple(sorted((text.encode('utf-8', 'replace') for text in encodings), key=len, reverse=True))

    def __call__(self, text: str) -> str:
        for masked in self._masked:
            text = text.replace(masked, REPLACEMENT)
        return text

    def mask_bytes(self, data: bytes) -> bytes:
        """Masks UTF-8. The cost depends on the number of bytes, not of lines."""
        for masked in self._masked_bytes:
            data = data.replace(masked, REPLACEMENT_BYTES)
        return data


def _to_json(text: str, is_ascii: bool) -> str:
    return json.dumps(text, ensure_ascii=is_ascii)[1:-1]
