"""The folders that are saved in the job directory: the output directory, and the program's working directory."""

import os
from pathlib import Path
from typing import Dict, Mapping, Optional

from vm_agent.storage.directory.object_names import WORK_PREFIX, reason_to_skip
from vm_agent.storage.output.open_files import find_open_files
from vm_agent.storage.output.output_files import Scan, scan_output
from vm_agent.storage.output.work_folder import WorkFolder
from vm_agent.storage.transfer.client import ObjectInfo


class OutputTree:
    """Names are relative to the job directory; those of the working directory begin with WORK_PREFIX."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.work: Optional[WorkFolder] = None
        """Set when the program's working directory is known, if it is saved."""

    def path(self, name: str) -> Path:
        work = self._work_of(name)
        return self.output / name if work is None else work.path / name[len(WORK_PREFIX) :]

    def allows_links(self, name: str) -> bool:
        """Whether a hard link to the file may be made: its file system is mounted nowhere else."""
        work = self._work_of(name)
        return work is None or not work.is_layer

    def root(self, name: str) -> Path:
        """Returns the folder that has the file."""
        work = self._work_of(name)
        return self.output if work is None else work.path

    def has_place(self, name: str) -> bool:
        """Whether the file can be restored: not one of a working directory that is not saved."""
        return self.work is not None or not name.startswith(WORK_PREFIX)

    def is_of_package(self, name: str) -> bool:
        """Whether the working directory had something in this place before the program's first start."""
        work = self._work_of(name)
        return work is not None and work.had(name[len(WORK_PREFIX) :])

    def find_held(self, committed: Mapping[str, ObjectInfo]) -> Dict[str, ObjectInfo]:
        """Returns the files that stay in their last saved version, since they are not looked at."""
        work = self.work
        return {
            name: info
            for name, info in committed.items()
            if name.startswith(WORK_PREFIX) and (work is None or work.is_left_out(name[len(WORK_PREFIX) :]))
        }

    def scan(self, prefix: str) -> Scan:
        """See scan_output. `prefix` is that of the job directory."""
        scan = scan_output(self.output, prefix)
        if self.work is None:
            return scan
        files, directories = self.work.scan()
        reasons = {name: reason_to_skip(WORK_PREFIX + name, prefix) for name in files}
        skipped = [f'{WORK_PREFIX + name!r}: {reason}' for name, reason in reasons.items() if reason is not None]
        return Scan(
            {**scan.files, **{WORK_PREFIX + name: files[name] for name in files if reasons[name] is None}},
            {**scan.directories, **{f'{WORK_PREFIX}{name}'.rstrip('/'): at for name, at in directories.items()}},
            (*scan.skipped, *skipped),
        )

    def open_files(self) -> Dict[str, bool]:
        """See find_open_files."""
        found = find_open_files(self.output)
        if self.work is not None:
            found.update((WORK_PREFIX + name, appends) for name, appends in find_open_files(self.work.path).items())
        return found

    def is_inside(self, path: str, name: str) -> bool:
        """Whether a path without links is below the folder that has the file."""
        work = self._work_of(name)
        folder = os.path.realpath(self.output) if work is None else work.real_path
        return path.startswith(folder + os.sep)

    def _work_of(self, name: str) -> Optional[WorkFolder]:
        return self.work if name.startswith(WORK_PREFIX) else None
