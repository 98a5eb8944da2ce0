"""Keeps the job directory in step with the local output directory: changed files first, the manifest last."""

import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Optional, Set, Tuple

from vm_agent.decisions import StopNotice
from vm_agent.job_directory import Fenced, JobDirectory
from vm_agent.mailbox import Mailbox
from vm_agent.output_files import Scan, Stamp, scan_output, stamp_of
from vm_agent.resumable_upload import FileChanged
from vm_agent.retry import PassingFault, Patience, backoff_delays
from vm_agent.storage import ObjectInfo, StorageRefused

ROUND_TRIES_MAX = 5
# Of the time that is left at the end: one file that is out of reach must not keep the others waiting for all of it.
FINAL_STEP_FRACTION = 0.25
# No file's: what has it is uploaded again.
UNKNOWN_STAMP = Stamp(-1, -1)


@dataclass(frozen=True)
class Saved:
    """A file as it was when its bytes were last in step with the bucket."""

    stamp: Stamp
    info: ObjectInfo


@dataclass(frozen=True)
class _Round:
    is_final: bool
    """The program has ended: every file is at rest, and there is no later round."""
    patience: Patience
    give_up_at: float = float('inf')
    """By time.monotonic()."""

    def step(self) -> Patience:
        """For the next file."""
        if not self.is_final:
            return self.patience
        return replace(self.patience, seconds_max=FINAL_STEP_FRACTION * (self.give_up_at - time.monotonic()))


def choose_files(found: Dict[str, Stamp], before: Optional[Dict[str, Stamp]], saved: Dict[str, Saved]) -> List[str]:
    """
    What to upload now: files that differ from the bucket and, while the program runs, have come to rest since the look
    `before` (None: the program has ended). In the order in which they were written, so that what points to a
    checkpoint follows the checkpoint.
    """
    changed = [name for name, stamp in found.items() if name not in saved or saved[name].stamp != stamp]
    at_rest = [name for name in changed if before is None or before.get(name) == found[name]]
    return sorted(at_rest, key=lambda name: (found[name].mtime_ns, name))


class OutputSync:
    def __init__(self, directory: JobDirectory, folder: Path, say: Callable[[str, str], None]) -> None:
        self._directory = directory
        self._folder = folder
        self._say = say
        self._saved: Dict[str, Saved] = {}
        self._last_scan: Dict[str, Stamp] = {}
        self._said: Set[str] = set()
        # Whether the manifest in the bucket names everything that is saved.
        self._is_sealed = True
        self._round = threading.Lock()
        self._is_over = threading.Event()

    def know(self, restored: Dict[str, ObjectInfo]) -> None:
        """These files were just brought from the bucket."""
        for name, info in restored.items():
            self._saved[name] = Saved(stamp_of(self._folder / name), info)

    def know_sealed(self, files: Mapping[str, ObjectInfo]) -> None:
        """After a reboot: these were sealed, and stay so until what the disk has of them since is saved."""
        for name, info in files.items():
            self._saved[name] = Saved(UNKNOWN_STAMP, info)

    def start(self, interval_seconds: float, mailbox: Mailbox) -> None:
        """Syncs at every interval until `finish`. Being fenced off stops the program."""
        threading.Thread(target=self._run, args=(interval_seconds, mailbox), name='output-sync', daemon=True).start()

    def finish(self, patience: Patience) -> Tuple[str, ...]:
        """
        The last rounds: everything, until it is saved or `patience.seconds_max` is over, for nobody else can save it
        later. Answers what could not be saved, with reasons. Raises Fenced.
        """
        self._is_over.set()
        with self._round:
            give_up_at = time.monotonic() + patience.seconds_max
            for delay_seconds in backoff_delays():
                problems = self._sync(_Round(True, patience, give_up_at))
                is_out_of_time = time.monotonic() + delay_seconds > give_up_at
                if not problems or is_out_of_time or patience.cancelled.wait(delay_seconds):
                    return problems
                self._say_once(f'The output could not be saved yet: {problems[0]}')
        raise AssertionError('backoff_delays never ends')

    def _run(self, interval_seconds: float, mailbox: Mailbox) -> None:
        while not self._is_over.wait(interval_seconds):
            with self._round:
                try:
                    patience = Patience(ROUND_TRIES_MAX, 4 * interval_seconds, self._is_over)
                    for problem in self._sync(_Round(False, patience)):
                        self._say_once(f'The output could not be saved yet: {problem}')
                except Fenced as fenced:
                    mailbox.post(StopNotice('STOPPED', str(fenced)))
                    return

    def _sync(self, round_: _Round) -> Tuple[str, ...]:
        scan = scan_output(self._folder, self._directory.prefix)
        before, self._last_scan = self._last_scan, scan.files
        for problem in scan.left_out:
            self._say_once(f'Not saved: {problem}.')
        chosen = choose_files(scan.files, None if round_.is_final else before, self._saved)
        self._is_sealed = self._is_sealed and not chosen and all(name in scan.files for name in self._saved)
        if self._is_sealed:
            return ()
        try:
            self._directory.check_claim(round_.step())
            problems = self._save_all(chosen, round_)
            self._write_manifest(scan, round_.step())
        except (PassingFault, StorageRefused) as error:
            return (str(error),)
        return problems

    def _save_all(self, names: List[str], round_: _Round) -> Tuple[str, ...]:
        problems = []
        for name in names:
            if self._is_over.is_set() and not round_.is_final:
                # The final round is waiting for this one, and knows better what is left to save.
                break
            try:
                self._save(name, round_.step())
            except FileNotFoundError:
                continue
            except FileChanged:
                if not round_.is_final:
                    # What was written after it may point to it: both wait for the next round.
                    break
                problems.append(f'{name}: something still writes to it')
            except (StorageRefused, OSError) as error:
                problems.append(f'{name}: {error}')
            except PassingFault as fault:
                if not round_.is_final:
                    raise
                problems.append(f'{name}: {fault}')
        return tuple(problems)

    def _save(self, name: str, patience: Patience) -> None:
        path = self._folder / name
        stamp = stamp_of(path)
        info = self._directory.save(name, path, patience)
        if stamp_of(path) != stamp:
            # What was uploaded may be half old and half new: the manifest goes on naming the generation before it.
            raise FileChanged()
        self._saved[name] = Saved(stamp, info)

    def _write_manifest(self, scan: Scan, patience: Patience) -> None:
        self._saved = {name: saved for name, saved in self._saved.items() if name in scan.files}
        self._directory.write_manifest({name: saved.info for name, saved in self._saved.items()}, patience)
        self._is_sealed = True

    def _say_once(self, text: str) -> None:
        if text not in self._said and len(self._said) < 100:
            self._said.add(text)
            self._say(text, 'WARNING')
