"""Findings about files of the program that are not saved."""

import json
import time
from typing import Callable, List, Optional, Sequence

from vm_agent.health.finding import Finding, describe_bytes
from vm_agent.storage.output.work_folder import BYTES_MAX, FILES_MAX, LeftOut

UNSAVED_NAMES_MAX = 10
LEFT_OUT_NAMES_MAX = 3


class OutputFindings:
    def __init__(self, record: Callable[[Finding], None]) -> None:
        self._record = record
        self._since = time.monotonic()
        self._left_out: List[LeftOut] = []
        self._unsaved: List[str] = []
        self._uncommitted = 0

    def add_left_out(self, left_out: Sequence[LeftOut]) -> None:
        self._left_out += left_out
        first = self._left_out[:LEFT_OUT_NAMES_MAX]
        names = [_printable(one.folder) or '*' for one in first]
        lines = [f'{name}: {one.count} files, {describe_bytes(one.size_bytes)}' for name, one in zip(names, first)]
        others = len(self._left_out) - len(first)
        more = f' and {others} other folders' if others else ''
        self._record(
            Finding(
                code='OUTPUT_LEFT_OUT',
                message=(
                    f'The program has written more than {describe_bytes(BYTES_MAX)} or {FILES_MAX} files to its '
                    f'working directory: {", ".join(names)}{more} will not be saved, and is deleted with the VM.'
                ),
                remedy=(
                    f'If it is a result, name it in the job file, with all else that is to be saved: '
                    f'outputs: {json.dumps(names)}. Or write results to the directory in DROPFORGE_OUTPUT_DIR.'
                ),
                since=self._begin(len(self._left_out)),
                evidence=tuple(lines),
            )
        )

    def add_unsaved(self, name: str) -> None:
        """Records that no complete version of a file can be copied, since a process has it open all the time."""
        if name not in self._unsaved and len(self._unsaved) < UNSAVED_NAMES_MAX:
            self._unsaved.append(name)
            self._record_unsaved(None)

    def add_uncommitted(self, message: str, remedy: str) -> None:
        """Records that files are not in the set of files of all replicas."""
        self._uncommitted += 1
        self._record(Finding('OUTPUT_UNSAVED', message, remedy, since=self._begin(self._uncommitted)))

    def end(self) -> None:
        """All files were saved after the end of the program."""
        if self._unsaved:
            self._record_unsaved(time.monotonic())

    def _record_unsaved(self, until: Optional[float]) -> None:
        self._record(
            Finding(
                code='OUTPUT_UNSAVED',
                message=(
                    f'{", ".join(self._unsaved)} cannot be saved while the program runs, because it is being written all '
                    'the time: an interruption without notice would lose its latest version.'
                ),
                remedy='Close the file between writes, or write a new file and rename it.',
                since=self._begin(len(self._unsaved)),
                until=until,
            )
        )

    def _begin(self, count: int) -> float:
        """Another time makes it a new finding, which is logged."""
        return self._since + count / 1_000


def _printable(name: str) -> str:
    """A line break in a name would begin a line of the log."""
    return ''.join(character if character.isprintable() else '?' for character in name)
