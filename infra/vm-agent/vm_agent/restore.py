"""Bringing back what earlier attempts have saved in the job directory: all of it, or the attempt ends."""

import os
import threading
import time
from collections import deque
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Callable, Dict

from vm_agent.exit_report import ExitReport, ReplicaEnded
from vm_agent.http_request import is_disk_full
from vm_agent.job_directory import JobDirectory
from vm_agent.manifest import Manifest
from vm_agent.output_files import is_restorable
from vm_agent.retry import PassingFault, Patience
from vm_agent.storage import ContentDiffers, ObjectInfo, StorageRefused

# An earlier attempt's last upload may replace an object while it is fetched, as may this one's where another replica
# is slow; more often than so it is somebody else's doing.
REPLACED_TIMES_MAX = 5
# One stream does not fill a VM's network, and many small files would each wait for a connection of their own.
CONNECTIONS_MAX = 8
CANCELLED_POLL_SECONDS = 0.2
# Coarse enough for every file system and for programs that read times as floating point numbers.
MODIFIED_STEP_NS = 1_000_000


def choose_objects(live: Dict[str, ObjectInfo], manifest: Manifest, job_id: str) -> Dict[str, ObjectInfo]:
    """
    What to bring back: the manifest's set of generations, and what this job's agents have uploaded after the manifest
    was last written; where nothing was ever sealed (complete to generation 0), all that they have uploaded. Older
    objects that it does not name were deleted by the program, as checkpoints are. What others put there is left there:
    a program that speaks to Cloud Storage itself reads it from there, and may keep more than a disk holds.
    """
    chosen = {}
    for name, info in manifest.files.items():
        current = live.get(name)
        is_same = current is not None and current.generation == info.generation
        # The live object's own record has more to check the download by.
        chosen[name] = current if current is not None and is_same else info
    for name, info in live.items():
        # Generations of Cloud Storage grow with time.
        is_unsealed = name not in chosen and int(info.generation) > int(manifest.complete_to or 0)
        if is_unsealed and info.author is not None and info.author.job_id == job_id:
            chosen[name] = info
    return _without_clashes({name: info for name, info in chosen.items() if is_restorable(name)})


def _without_clashes(chosen: Dict[str, ObjectInfo]) -> Dict[str, ObjectInfo]:
    """A bucket may hold `model` and `model/weights`, a disk either of them: the newer, for the program made it so."""
    kept = dict(chosen)
    for name, info in chosen.items():
        for folder in map(str, PurePosixPath(name).parents):
            if folder in chosen:
                kept.pop(name if int(chosen[folder].generation) > int(info.generation) else folder, None)
    return kept


@dataclass(frozen=True)
class Restore:
    directory: JobDirectory
    folder: Path
    bytes_max: int
    """What the disk has room for now."""
    patience: Patience
    say: Callable[[str, str], None]

    def run(self, claimed: Manifest) -> Dict[str, ObjectInfo]:
        """
        Downloads into the local output directory and answers what lies there now, by name. It is all or nothing: a
        program that began without its checkpoint would begin anew, and what the next manifest does not name counts as
        deleted in every later attempt. Raises ReplicaEnded with DISK_TOO_SMALL or CHECKPOINT_UNREADABLE,
        StorageRefused where the directory cannot be listed, and PassingFault.
        """
        live = {name: info for name, info in self.directory.list(self.patience) if is_restorable(name)}
        for name, info in live.items():
            self.directory.know(name, info.generation)
        chosen = choose_objects(live, claimed, self.directory.author.job_id)
        total_bytes = sum(info.size_bytes for info in chosen.values())
        self._check_room(chosen, total_bytes)
        restored = self._fetch_all(chosen)
        self._order_by_age(restored)
        if restored:
            self.say(f'Restored {len(restored)} files of {total_bytes} bytes from the job directory.', 'INFO')
        return restored

    def _check_room(self, chosen: Dict[str, ObjectInfo], total_bytes: int) -> None:
        replaced_bytes = sum(_size_of(self.folder / name) for name in chosen)
        room_bytes = self.bytes_max + replaced_bytes
        if total_bytes > room_bytes:
            message = (
                f'The {len(chosen)} files that earlier attempts have saved have {total_bytes} bytes, '
                f'and the disk of this VM has room for {max(0, room_bytes)}.'
            )
            raise ReplicaEnded(ExitReport('DISK_TOO_SMALL', message))

    def _fetch_all(self, chosen: Dict[str, ObjectInfo]) -> Dict[str, ObjectInfo]:
        """Several files at a time. Raises the first fault, which cuts the others short."""
        left = deque(chosen.items())
        restored: Dict[str, ObjectInfo] = {}
        cut_short = threading.Event()
        patience = replace(self.patience, cancelled=cut_short)

        def fetch_in_turn() -> None:
            while not cut_short.is_set():
                try:
                    name, info = left.popleft()
                except IndexError:
                    return
                restored[name] = self._fetch(name, info, patience)

        with ThreadPoolExecutor(CONNECTIONS_MAX, 'restore') as pool:
            working = {pool.submit(fetch_in_turn) for _ in range(min(CONNECTIONS_MAX, len(chosen)))}
            try:
                while working:
                    done, working = wait(working, CANCELLED_POLL_SECONDS, FIRST_EXCEPTION)
                    for ended in done:
                        ended.result()
                    if self.patience.cancelled.is_set():
                        cut_short.set()
            finally:
                cut_short.set()
        if len(restored) < len(chosen):
            raise PassingFault('The restore was cut short: the VM is stopping.')
        return restored

    def _order_by_age(self, restored: Dict[str, ObjectInfo]) -> None:
        """Programs look for their newest checkpoint by its time; files that arrive side by side arrive in no order."""
        restored_at_ns = time.time_ns()
        by_age = sorted(restored, key=lambda name: int(restored[name].generation), reverse=True)
        for place, name in enumerate(by_age):
            modified_at_ns = restored_at_ns - place * MODIFIED_STEP_NS
            os.utime(self.folder / name, ns=(modified_at_ns, modified_at_ns))

    def _fetch(self, name: str, chosen: ObjectInfo, patience: Patience) -> ObjectInfo:
        """One file: in the chosen generation, or as it is now where that is gone (a bucket without versioning)."""
        info = chosen
        for _ in range(REPLACED_TIMES_MAX):
            try:
                self.directory.fetch(info, self.folder / name, patience)
                return info
            except StorageRefused as refusal:
                current = self.directory.look(name, patience) if refusal.status == 404 else None
                if current is None or current.generation == info.generation:
                    raise ReplicaEnded(describe_loss(name, refusal)) from refusal
                info = current
            except (ContentDiffers, OSError) as error:
                raise ReplicaEnded(describe_loss(name, error)) from error
        raise PassingFault(f'{name} is being written by somebody else all the time.')


def describe_loss(name: str, error: Exception) -> ExitReport:
    """Why one saved file does not come back."""
    if is_disk_full(error):
        message = f'The disk of this VM was full when {name} was restored, which an earlier attempt saved.'
        return ExitReport('DISK_TOO_SMALL', message, evidence=(str(error),))
    message = f'{name}, which an earlier attempt saved, could not be restored.'
    return ExitReport('CHECKPOINT_UNREADABLE', message, evidence=(str(error),))


def _size_of(path: Path) -> int:
    """Bytes of the file; 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
