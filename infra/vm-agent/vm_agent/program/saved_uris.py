"""Where a program saves its results itself, as far as its arguments and its output say so."""

import re
from typing import Iterable, Iterator, Mapping, Sequence, Tuple

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

# A name that also fits what is only read, such as --model-dir, is not among them.
WRITTEN = re.compile(r'(?<![a-z])(?:out|output|export|save|log|result|artifact)(?:s?(?![a-z])|dir)', re.IGNORECASE)


def find_saved_uris(lines: Iterable[str]) -> Tuple[str, ...]:
    """Returns the last URIs to which lines of a program say that something was saved."""
    found = [match.group(1) for line in lines for match in [SAVED.search(line[:LINE_CHARS_MAX])] if match]
    return tuple(dict.fromkeys(found[-URIS_MAX:]))


def find_output_arguments(args: Sequence[str]) -> Tuple[str, ...]:
    """Returns the URIs that arguments name as a place of results, `--output-dir gs://…` or `--output-dir=gs://…`."""
    return tuple(path for _, path in _find_outputs(args, {}) if path.startswith('gs://'))


def find_written_paths(args: Sequence[str], environment: Mapping[str, str]) -> Tuple[Tuple[str, str], ...]:
    """Returns names and paths, gs://… or /gcs/…, of arguments and variables to which the program is sure to write."""
    return tuple(pair for pair in _find_outputs(args, environment) if WRITTEN.search(pair[0]))


def _find_outputs(args: Sequence[str], environment: Mapping[str, str]) -> Iterator[Tuple[str, str]]:
    assigned = [(name, value) for name, _, value in (arg.partition('=') for arg in args)]
    for name, path in (*assigned, *zip(args, args[1:]), *environment.items()):
        is_path = path.startswith(('gs://', '/gcs/')) and len(name) <= NAME_CHARS_MAX
        if is_path and OUTPUT_OPTION.fullmatch(name):
            yield name, path


def is_outside(uri: str, job_dir: str) -> bool:
    return not f'{uri}/'.startswith(f'{job_dir.rstrip("/")}/')
