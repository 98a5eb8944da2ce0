"""What must outlive a reboot: one small JSON file on the work disk, replaced atomically."""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional, Tuple

from vm_agent.exit_report import ExitReport, read_exit_report

SEQUENCES_PER_BOOT = 1_000_000


@dataclass(frozen=True)
class State:
    """What this VM has done so far, of one attempt."""

    job_id: str
    attempt: int
    boot: int = 0
    import_roots: Optional[Tuple[str, ...]] = None
    """Directories for PYTHONPATH once everything is installed; None until then."""
    is_restored: bool = False
    program_started_at: Optional[float] = None
    """Seconds since the epoch: running time counts on across a reboot."""
    exit: Optional[ExitReport] = None
    is_output_saved: bool = False
    is_exit_delivered: bool = False

    @property
    def first_sequence(self) -> int:
        """Numbers of one boot begin here, so that heartbeats grow across reboots without a write for each."""
        return self.boot * SEQUENCES_PER_BOOT + 1


class StateFile:
    def __init__(self, path: Path) -> None:
        self._path = path

    def open_boot(self, job_id: str, attempt: int) -> State:
        """The state as the last boot left it, counted one up; new where the disk belonged to another job or attempt."""
        previous = self._read()
        if previous is None or (previous.job_id, previous.attempt) != (job_id, attempt):
            state = State(job_id=job_id, attempt=attempt)
        else:
            state = replace(previous, boot=previous.boot + 1)
        self.write(state)
        return state

    def write(self, state: State) -> None:
        body = {**vars(state), 'exit': None if state.exit is None else state.exit.to_json()}
        temporary = self._path.with_suffix('.new')
        with open(temporary, 'w', encoding='utf-8') as file:
            json.dump(body, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self._path)

    def _read(self) -> Optional[State]:
        try:
            body: Any = json.loads(self._path.read_text(encoding='utf-8'))
            roots = body['import_roots']
            report = body['exit']
            return State(
                **{
                    **body,
                    'import_roots': None if roots is None else tuple(roots),
                    'exit': None if report is None else read_exit_report(report),
                }
            )
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            # A torn or foreign file says nothing; the output in the bucket does.
            return None
