"""Findings about files of the program that are not saved."""

import json
import time
from typing import Callable, List

from vm_agent.health.finding import Finding, describe_bytes
from vm_agent.storage.work_folder import BYTES_MAX, FILES_MAX, LeftOut

UNSAVED_NAMES_MAX = 10


class OutputFindings:
    def __init__(self, record: Callable[[Finding], None]) -> None:
        self._record = record
        self._since = time.monotonic()
        self._left_out: List[LeftOut] = []
        self._unsaved: List[str] = []

    def add_left_out(self, left_out: LeftOut) -> None:
        self._left_out.append(left_out)
        names = [one.folder or '*' for one in self._left_out]
        lines = [
            f'{name}: {one.count} files, {describe_bytes(one.size_bytes)}' for name, one in zip(names, self._left_out)
        ]
        self._record(
            Finding(
                code='OUTPUT_LEFT_OUT',
                message=(
                    f'The program has written more than {describe_bytes(BYTES_MAX)} or {FILES_MAX} files to its '
                    f'working directory: {", ".join(names)} will not be saved, and is deleted with the VM.'
                ),
                remedy=(
                    f'If it is a result, name it in the job file, with all else that is to be saved: '
                    f'outputs: {json.dumps(names)}. Or write results to the directory in DROPFORGE_OUTPUT_DIR.'
                ),
                since=self._begin(len(names)),
                evidence=tuple(lines),
            )
        )

    def add_unsaved(self, name: str) -> None:
        """Records that no complete version of a file can be copied, since a process has it open all the time."""
        if name in self._unsaved or len(self._unsaved) == UNSAVED_NAMES_MAX:
            return
        self._unsaved.append(name)
        self._record(
            Finding(
                code='OUTPUT_UNSAVED',
                message=(
                    f'{", ".join(self._unsaved)} cannot be saved while the program runs, because it is being written all '
                    'the time: an interruption without notice would lose its latest version.'
                ),
                remedy='Close the file between writes, or write a new file and rename it.',
                since=self._begin(len(self._unsaved)),
            )
        )

    def _begin(self, count: int) -> float:
        """Another time makes it a new finding, which is logged."""
        return self._since + count / 1_000
