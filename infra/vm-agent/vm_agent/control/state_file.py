"""State that survives a reboot: one small JSON file on the work disk, replaced atomically."""

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable, Optional, Tuple

from vm_agent.logs.serial_console import write_to_console
from vm_agent.program.exit_report import ExitReport, parse_exit_report
from vm_agent.program.json_file import replace_json

SEQUENCES_PER_BOOT = 1_000_000


@dataclass(frozen=True)
class State:
    """The progress of this VM in one attempt. The field names are the file's keys."""

    job_id: str
    attempt: int
    boot: int = 0
    import_roots: Optional[Tuple[str, ...]] = None
    """Directories for PYTHONPATH; None until everything is installed."""
    script: Optional[str] = None
    """The path of the program in the working directory; None for a module."""
    working_directory: Optional[str] = None
    """The directory of an unpacked package; None if the program runs in an empty directory."""
    saved_folder: Optional[str] = None
    """Where the program runs, if its files there are saved; None until it is known."""
    is_restored: bool = False
    has_restored: bool = False
    """Whether an earlier attempt had saved files, or this one before a reboot."""
    program_started_at: Optional[float] = None
    """Seconds since the epoch; the running time continues across a reboot."""
    exit: Optional[ExitReport] = None
    bad_since: Optional[float] = None
    """Seconds since the epoch: what was saved before is good. Only for a rollback, where None means: nothing is."""
    program_ended_at: Optional[float] = None
    """Seconds since the epoch; None until the program has ended."""
    is_stopped_early: bool = False
    """Whether the job goes on to succeed although its program was stopped."""
    is_output_saved: bool = False
    is_exit_delivered: bool = False

    @property
    def is_hurried(self) -> bool:
        """
        Whether the VM was told to stop, is shut down, or has no control plane, so that it may have little time left;
        not if a trial was stopped early, whose output is wanted.
        """
        return self.exit is not None and self.exit.is_stopped and not self.is_stopped_early

    @property
    def ran_seconds(self) -> float:
        """How long ago the program was first started, before a reboot; 0 before its start."""
        return 0.0 if self.program_started_at is None else max(0.0, time.time() - self.program_started_at)

    @property
    def first_sequence(self) -> int:
        """The first heartbeat's sequence number in this boot: numbers grow across reboots without being stored."""
        return self.boot * SEQUENCES_PER_BOOT + 1


class StateFile:
    """The state of this boot: each change is on the disk before the next step."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.log: Callable[[str, str], None] = lambda text, _severity: write_to_console(text)

    def open_boot(self, job_id: str, attempt: int) -> State:
        """
        Returns the last boot's state with `boot` incremented; a new state if it is of another job or attempt. Raises
        OSError.
        """
        previous = self._read()
        if previous is None or (previous.job_id, previous.attempt) != (job_id, attempt):
            self.current = State(job_id=job_id, attempt=attempt)
        else:
            self.current = replace(previous, boot=previous.boot + 1)
        self.write(self.current)
        return self.current

    def update(self, **changes: Any) -> None:
        """`changes` are fields of State."""
        self.current = replace(self.current, **changes)
        try:
            self.write(self.current)
        except OSError as error:
            # A full disk must not keep the report from being delivered; a reboot would only repeat some steps.
            self.log(f'The state file could not be written: {error}', 'ERROR')

    def write(self, state: State) -> None:
        """Raises OSError."""
        replace_json(self._path, {**vars(state), 'exit': None if state.exit is None else state.exit.to_json()})

    def _read(self) -> Optional[State]:
        try:
            body: Any = json.loads(self._path.read_text(encoding='utf-8'))
            roots = body['import_roots']
            report = body['exit']
            return State(
                **{
                    **body,
                    'import_roots': None if roots is None else tuple(roots),
                    'exit': None if report is None else parse_exit_report(report),
                }
            )
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            # A damaged file is treated as absent: the output in the bucket is restored instead.
            return None
