"""Keeps the job directory in step with the local output directory: changed files first, the manifest last."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Optional, Set, Tuple

from vm_agent.decisions import StopNotice
from vm_agent.job_directory import Fenced, JobDirectory
from vm_agent.mailbox import Mailbox
from vm_agent.output_files import Scan, Stamp, scan_output, stamp_of
from vm_agent.resumable_upload import FileChanged
from vm_agent.retry import PassingFault, Patience
from vm_agent.storage import ObjectInfo, StorageRefused

ROUND_TRIES_MAX = 5


@dataclass(frozen=True)
class Saved:
    """A file as it was when its bytes were last in step with the bucket."""

    stamp: Stamp
    info: ObjectInfo


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
        self._round = threading.Lock()
        self._is_over = threading.Event()

    def know(self, restored: Dict[str, ObjectInfo]) -> None:
        """These files were just brought from the bucket."""
        for name, info in restored.items():
            self._saved[name] = Saved(stamp_of(self._folder / name), info)

    def start(self, interval_seconds: float, mailbox: Mailbox) -> None:
        """Syncs at every interval until `finish`. Being fenced off stops the program."""
        threading.Thread(target=self._run, args=(interval_seconds, mailbox), name='output-sync', daemon=True).start()

    def finish(self, patience: Patience) -> Tuple[str, ...]:
        """The last round: everything. Answers what could not be saved, with reasons. Raises Fenced."""
        self._is_over.set()
        with self._round:
            return self._sync(is_final=True, patience=patience)

    def _run(self, interval_seconds: float, mailbox: Mailbox) -> None:
        while not self._is_over.wait(interval_seconds):
            with self._round:
                try:
                    patience = Patience(ROUND_TRIES_MAX, 4 * interval_seconds, self._is_over)
                    for problem in self._sync(is_final=False, patience=patience):
                        self._say_once(f'The output could not be saved yet: {problem}')
                except Fenced as fenced:
                    mailbox.post(StopNotice('STOPPED', str(fenced)))
                    return

    def _sync(self, *, is_final: bool, patience: Patience) -> Tuple[str, ...]:
        scan = scan_output(self._folder, self._directory.prefix)
        before, self._last_scan = self._last_scan, scan.files
        for problem in scan.left_out:
            self._say_once(f'Not saved: {problem}.')
        chosen = choose_files(scan.files, None if is_final else before, self._saved)
        has_lost = any(name not in scan.files for name in self._saved)
        if not chosen and not has_lost:
            return ()
        try:
            self._directory.check_claim(patience)
            problems = self._save_all(chosen, patience)
            self._write_manifest(scan, patience)
        except (PassingFault, StorageRefused) as error:
            return (str(error),)
        return problems

    def _save_all(self, names: List[str], patience: Patience) -> Tuple[str, ...]:
        problems = []
        for name in names:
            if self._is_over.is_set() and patience.cancelled is self._is_over:
                # The final round is waiting for this one, and knows better what is left to save.
                break
            path = self._folder / name
            try:
                stamp = stamp_of(path)
                info = self._directory.save(name, path, patience)
                # A file that was written to meanwhile differs from this stamp, and is taken again.
                self._saved[name] = Saved(stamp, info)
            except (FileChanged, FileNotFoundError):
                continue
            except (StorageRefused, OSError) as error:
                problems.append(f'{name}: {error}')
        return tuple(problems)

    def _write_manifest(self, scan: Scan, patience: Patience) -> None:
        self._saved = {name: saved for name, saved in self._saved.items() if name in scan.files}
        self._directory.write_manifest({name: saved.info for name, saved in self._saved.items()}, patience)

    def _say_once(self, text: str) -> None:
        if text not in self._said and len(self._said) < 100:
            self._said.add(text)
            self._say(text, 'WARNING')
