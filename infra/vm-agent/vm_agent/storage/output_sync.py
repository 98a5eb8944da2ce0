"""Uploads the local output directory to the job directory: changed files first, the manifest last."""

import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Optional, Set, Tuple

from vm_agent.http.retry import RetryPolicy, TransientError, backoff_delays
from vm_agent.storage.client import ObjectInfo, StorageRejected
from vm_agent.storage.job_directory import Fenced, JobDirectory
from vm_agent.storage.output_files import Scan, Stamp, scan_output, stamp_of
from vm_agent.storage.resumable_upload import FileChanged

ROUND_TRIES_MAX = 5
# The share of the remaining time that one file may take in the final rounds: a file that cannot be uploaded must not
# keep the others from being uploaded.
FINAL_STEP_FRACTION = 0.25
# Differs from every file's stamp, so that the file is uploaded again.
UNKNOWN_STAMP = Stamp(-1, -1)
# Each warning is logged once; a bound on the memory for that.
WARNING_COUNT_MAX = 100


@dataclass(frozen=True)
class UploadedFile:
    """A file as it was when it was last equal to its object."""

    stamp: Stamp
    info: ObjectInfo


@dataclass(frozen=True)
class _Round:
    is_final: bool
    """The program has ended: no file changes any more, and there is no later round."""
    policy: RetryPolicy
    give_up_at: float = float('inf')
    """By time.monotonic()."""

    def step_policy(self) -> RetryPolicy:
        """Returns the policy for the next file."""
        if not self.is_final:
            return self.policy
        return replace(self.policy, seconds_max=FINAL_STEP_FRACTION * (self.give_up_at - time.monotonic()))


def select_files(
    found: Dict[str, Stamp], before: Optional[Dict[str, Stamp]], uploaded: Dict[str, UploadedFile]
) -> List[str]:
    """
    Returns the files to upload: those that differ from their objects and, while the program runs, have not changed
    since the scan `before` (None: the program has ended). Sorted by modification time, so that a file that points to a
    checkpoint is uploaded after the checkpoint.
    """
    changed = [name for name, stamp in found.items() if name not in uploaded or uploaded[name].stamp != stamp]
    stable = [name for name in changed if before is None or before.get(name) == found[name]]
    return sorted(stable, key=lambda name: (found[name].mtime_ns, name))


class OutputSync:
    def __init__(self, directory: JobDirectory, folder: Path, log: Callable[[str, str], None]) -> None:
        """`log(text, severity)` logs a line."""
        self._directory = directory
        self._folder = folder
        self._log = log
        self._uploaded: Dict[str, UploadedFile] = {}
        self._last_scan: Dict[str, Stamp] = {}
        self._warnings: Set[str] = set()
        # Whether the manifest in the bucket names everything that is uploaded.
        self._is_committed = True
        self._round = threading.Lock()
        self._is_finishing = threading.Event()

    def record_restored(self, restored: Mapping[str, ObjectInfo]) -> None:
        """Records files that have just been downloaded, and therefore need no upload."""
        for name, info in restored.items():
            self._uploaded[name] = UploadedFile(stamp_of(self._folder / name), info)

    def record_committed(self, files: Mapping[str, ObjectInfo]) -> None:
        """
        Records, after a reboot, the files of the last manifest: each stays in the manifest until what the disk holds of
        it is uploaded.
        """
        for name, info in files.items():
            self._uploaded[name] = UploadedFile(UNKNOWN_STAMP, info)

    def start(self, interval_seconds: float, on_fenced: Callable[[Fenced], None]) -> None:
        """Syncs at every interval until `finish`, or until a later attempt has claimed the directory."""
        threading.Thread(target=self._run, args=(interval_seconds, on_fenced), name='output-sync', daemon=True).start()

    def finish(self, policy: RetryPolicy) -> Tuple[str, ...]:
        """
        Uploads everything in final rounds, until all is uploaded or `policy.seconds_max` has passed: the VM's disk is
        deleted afterwards. Returns why files could not be uploaded. Raises Fenced.
        """
        self._is_finishing.set()
        with self._round:
            give_up_at = time.monotonic() + policy.seconds_max
            for delay_seconds in backoff_delays():
                problems = self._sync(_Round(True, policy, give_up_at))
                is_out_of_time = time.monotonic() + delay_seconds > give_up_at
                if not problems or is_out_of_time or policy.cancelled.wait(delay_seconds):
                    return problems
                self._warn_once(f'The output could not be uploaded yet: {problems[0]}')
        raise AssertionError('backoff_delays never ends')

    def _run(self, interval_seconds: float, on_fenced: Callable[[Fenced], None]) -> None:
        while not self._is_finishing.wait(interval_seconds):
            with self._round:
                try:
                    policy = RetryPolicy(ROUND_TRIES_MAX, 4 * interval_seconds, self._is_finishing)
                    for problem in self._sync(_Round(False, policy)):
                        self._warn_once(f'The output could not be uploaded yet: {problem}')
                except Fenced as fenced:
                    on_fenced(fenced)
                    return

    def _sync(self, round_: _Round) -> Tuple[str, ...]:
        scan = scan_output(self._folder, self._directory.prefix)
        before, self._last_scan = self._last_scan, scan.files
        for problem in scan.skipped:
            self._warn_once(f'A file of the output cannot be uploaded: {problem}.')
        selected = select_files(scan.files, None if round_.is_final else before, self._uploaded)
        self._is_committed = self._is_committed and not selected and all(name in scan.files for name in self._uploaded)
        if self._is_committed:
            return ()
        try:
            self._directory.check_claim(round_.step_policy())
            problems = self._upload_all(selected, round_)
            self._write_manifest(scan, round_.step_policy())
        except (TransientError, StorageRejected) as error:
            return (str(error),)
        return problems

    def _upload_all(self, names: List[str], round_: _Round) -> Tuple[str, ...]:
        problems = []
        for name in names:
            if self._is_finishing.is_set() and not round_.is_final:
                # The final round waits for this one, and scans again.
                break
            try:
                self._upload(name, round_.step_policy())
            except FileNotFoundError:
                continue
            except FileChanged:
                if not round_.is_final:
                    # Files written after this one may point to it: all of them wait for the next round.
                    break
                problems.append(f'{name}: a process is still writing to it')
            except (StorageRejected, OSError) as error:
                problems.append(f'{name}: {error}')
            except TransientError as error:
                if not round_.is_final:
                    raise
                problems.append(f'{name}: {error}')
        return tuple(problems)

    def _upload(self, name: str, policy: RetryPolicy) -> None:
        path = self._folder / name
        stamp = stamp_of(path)
        info = self._directory.upload(name, path, policy)
        if stamp_of(path) != stamp:
            # The object may mix old and new bytes: the manifest keeps naming the previous generation.
            raise FileChanged()
        self._uploaded[name] = UploadedFile(stamp, info)

    def _write_manifest(self, scan: Scan, policy: RetryPolicy) -> None:
        self._uploaded = {name: file for name, file in self._uploaded.items() if name in scan.files}
        self._directory.write_manifest({name: file.info for name, file in self._uploaded.items()}, policy)
        self._is_committed = True

    def _warn_once(self, text: str) -> None:
        if text not in self._warnings and len(self._warnings) < WARNING_COUNT_MAX:
            self._warnings.add(text)
            self._log(text, 'WARNING')
