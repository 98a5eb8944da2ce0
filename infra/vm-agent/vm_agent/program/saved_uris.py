"""Where a program saves its results itself, as far as its arguments and its output say so."""

import re
from typing import Iterable, Sequence, Tuple

URIS_MAX = 20
LINE_CHARS_MAX = 4_096
NAME_CHARS_MAX = 100
# `Saved the model to gs://…`: what follows `from` was read.
SAVED = re.compile(
    r'\b(?:sav(?:e[ds]?|ing)|writ(?:es?|ing|ten)|wrote|export(?:s|ed|ing)?|upload(?:s|ed|ing)?|stor(?:ed|ing)'
    r'|(?:cop(?:ied|ying)|moved)\b.{0,200}\bto)\b(?:(?!\bfrom\b).){0,200}?(gs://[^\s\'",;)\]]+)',
    re.IGNORECASE,
)
OUTPUT_OPTION = re.compile(
    r'-{0,2}(?!.*(?:pretrained|init|input|data|restore|load|from))(?:[A-Za-z0-9]+[-_.])*'
    r'(?:out(?:put)?|export|save|model|checkpoint|ckpt|log|result|artifact|prediction|job)s?'
    r'[-_.]?(?:dir|directory|path|ur[il]|folder|bucket|location|prefix|to)',
    re.IGNORECASE,
)


def find_saved_uris(lines: Iterable[str]) -> Tuple[str, ...]:
    """Returns the last URIs to which lines of a program say that something was saved."""
    found = [match.group(1) for line in lines for match in [SAVED.search(line[:LINE_CHARS_MAX])] if match]
    return tuple(dict.fromkeys(found[-URIS_MAX:]))


def find_output_arguments(args: Sequence[str]) -> Tuple[str, ...]:
    """Returns the URIs that arguments name as a place of results, `--output-dir gs://…` or `--output-dir=gs://…`."""
    pairs = [arg.split('=', 1) for arg in args if '=' in arg] + [list(pair) for pair in zip(args, args[1:])]
    named = [(name, value) for name, value in pairs if len(name) <= NAME_CHARS_MAX and value.startswith('gs://')]
    return tuple(value for name, value in named if OUTPUT_OPTION.fullmatch(name))


def is_outside(uri: str, job_dir: str) -> bool:
    return not f'{uri}/'.startswith(f'{job_dir.rstrip("/")}/')
