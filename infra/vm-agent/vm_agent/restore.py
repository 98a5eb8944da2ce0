"""Bringing back what earlier attempts, or the user, left in the job directory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, Optional, Sequence

from vm_agent.job_directory import JobDirectory
from vm_agent.manifest import Manifest
from vm_agent.output_files import FILE_COUNT_MAX, is_restorable
from vm_agent.retry import Patience
from vm_agent.storage import ContentDiffers, ObjectInfo, StorageRefused


def choose_objects(live: Dict[str, ObjectInfo], manifest: Manifest) -> Dict[str, ObjectInfo]:
    """
    What to bring back: the manifest's set of generations, and what was uploaded after the manifest was last written.
    Older objects that it does not name were deleted by the program, as checkpoints are. Where nothing was ever sealed
    (complete to generation 0), that is everything.
    """
    chosen = {}
    for name, info in manifest.files.items():
        current = live.get(name)
        is_same = current is not None and current.generation == info.generation
        # The live object's own record has more to check the download by.
        chosen[name] = current if current is not None and is_same else info
    for name, info in live.items():
        # Generations of Cloud Storage grow with time.
        if name not in chosen and int(info.generation) > int(manifest.complete_to or 0):
            chosen[name] = info
    return chosen


@dataclass(frozen=True)
class Restore:
    directory: JobDirectory
    folder: Path
    bytes_max: int
    patience: Patience
    say: Callable[[str, str], None]

    def run(self, claimed: Manifest) -> Dict[str, ObjectInfo]:
        """
        Downloads into the local output directory and answers what lies there now, by name. What would not fit is left
        in the bucket, and said. Raises PassingFault where the bucket cannot be reached.
        """
        live = {name: info for name, info in self.directory.list(self.patience) if is_restorable(name)}
        for name, info in live.items():
            self.directory.know(name, info.generation)
        chosen = {name: info for name, info in choose_objects(live, claimed).items() if is_restorable(name)}
        total_bytes = sum(info.size_bytes for info in chosen.values())
        if total_bytes > self.bytes_max or len(chosen) > FILE_COUNT_MAX:
            self.say(
                f'The job directory was not restored: its {len(chosen)} files of {total_bytes} bytes are more than the '
                f'{FILE_COUNT_MAX} files and {self.bytes_max} bytes that this VM has room for.',
                'WARNING',
            )
            return {}
        fetched = {name: self._fetch(name, (info, live.get(name))) for name, info in chosen.items()}
        return {name: info for name, info in fetched.items() if info is not None}

    def _fetch(self, name: str, candidates: Sequence[Optional[ObjectInfo]]) -> Optional[ObjectInfo]:
        """One file: in the manifest's generation, or the live one where that is gone (a bucket without versioning)."""
        target = self.folder / name
        problem = ''
        for candidate in filter(None, candidates):
            try:
                self.directory.fetch(candidate, target, self.patience)
                return candidate
            except (StorageRefused, ContentDiffers, OSError) as error:
                problem = str(error)
        self.say(f'{name} was not restored: {problem}', 'WARNING')
        return None
