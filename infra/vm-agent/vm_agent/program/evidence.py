"""Makes lines of a program or tool fit to be shown as evidence of a failure."""

import re
from typing import Iterable, List

# The escape sequences of ECMA-48 and xterm, and control characters except the tab.
CONTROL = re.compile(
    '\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])|[\x00-\x08\x0a-\x1f\x7f-\x9f]'
)
# Notices of pip on its configuration and progress, which are never the reason why an installation fails.
PIP_NOTICE = re.compile(
    r'\s*(?:WARNING: (?:Location .{0,2000} is ignored|Running pip as|The directory .{0,2000} is not owned)'
    r'|Looking in (?:indexes|links): |Requirement already satisfied: |\[notice\] |DEPRECATION: )'
)
LEVEL = re.compile(r'\b(?:WARN(?:ING)?|ERROR|CRITICAL)\b')
# So many lines of a run of similar ones are kept, the last ones.
RUN_LINES_MAX = 2


def clean_line(line: str) -> str:
    """Returns the line without terminal escapes; empty if it is blank or a notice of pip."""
    text = CONTROL.sub('', line).rstrip()
    return '' if PIP_NOTICE.match(text) else text


def clean_evidence(lines: Iterable[str]) -> List[str]:
    """
    Returns the lines without terminal escapes, blank lines and pip's notices. Of a run of lines with a level that
    differ only in numbers, such as the time, the last ones are kept after a line that counts the others.
    """
    kept: List[str] = []
    run: List[str] = []
    for line in lines:
        text = clean_line(line)
        if not text:
            continue
        if run and _form_of(text) != _form_of(run[0]):
            kept += _shorten_run(run)
            run = []
        run.append(text)
    return kept + _shorten_run(run)


def _form_of(text: str) -> str:
    return re.sub(r'\d+', '0', text) if LEVEL.search(text) else text


def _shorten_run(run: List[str]) -> List[str]:
    left_out = len(run) - RUN_LINES_MAX
    return run if left_out < 2 else [f'… {left_out} similar lines', *run[-RUN_LINES_MAX:]]
