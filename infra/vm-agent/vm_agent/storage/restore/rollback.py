"""
Goes back to the files of an earlier moment: the next attempt restores them. What is newer stays in the job directory
under another name. It needs a bucket with versioning, which keeps what later uploads have replaced.
"""

from dataclasses import dataclass, replace
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from vm_agent.http.retry import RetryPolicy
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.directory.object_names import MANIFEST_NAME
from vm_agent.storage.output.open_files import is_log_name
from vm_agent.storage.transfer.client import END_KEY, ObjectInfo

ROLLED_BACK_PREFIX = 'dropforge-rolled-back/'
# The number of the manifest's versions: one is written in each sync interval in which files have changed.
MANIFESTS_READ_MAX = 200


@dataclass(frozen=True)
class Moment:
    """The files of the job directory as they were then. Seconds since the epoch."""

    before: Optional[float]
    """None if what the attempt restored is at fault itself: what was saved before that."""
    started_at: float
    """When the program of this attempt started."""


@dataclass(frozen=True)
class RolledBack:
    files: Mapping[str, ObjectInfo]
    """The files that the next attempt restores; empty if nothing had been saved by then."""
    kept: Mapping[str, str]
    """The newer files: by name, that of the copy."""

    @property
    def saved_at(self) -> Optional[float]:
        """When the newest of the files was saved, in seconds since the epoch; None if there are none."""
        return _saved_until(self.files)


@dataclass(frozen=True)
class Rollback:
    directory: JobDirectory
    policy: RetryPolicy

    def run(self, moment: Moment) -> Optional[RolledBack]:
        """
        Returns None, and changes nothing, if no complete set of files of that moment exists any more. Raises Fenced,
        TransientError or StorageRejected.
        """
        current = self.directory.read_manifest(self.policy).files
        versions: Dict[str, List[ObjectInfo]] = {}
        for name, info in self.directory.list(self.policy, has_versions=True):
            versions.setdefault(name, []).append(info)
        before = moment.before
        if before is None:
            restored = self._find_manifest(versions, moment.started_at)
            saved_until = None if restored is None else _saved_until(restored.files)
            before = moment.started_at if saved_until is None else saved_until
        earlier = self._find_manifest(versions, before)
        if earlier is None:
            return None
        kept = self._keep_newer(current, earlier.files)
        self.directory.write_manifest(earlier, self.policy, (END_KEY,))
        return RolledBack(earlier.files, kept)

    def _find_manifest(self, versions: Mapping[str, Sequence[ObjectInfo]], before: float) -> Optional[Manifest]:
        """Returns the newest manifest from before of which every file exists."""
        existing = {(name, info.generation): info for name, infos in versions.items() for info in infos}
        manifests = [info for info in versions.get(MANIFEST_NAME, []) if info.created_at < before]
        newest_first = sorted(manifests, key=lambda info: int(info.generation), reverse=True)
        for info in newest_first[:MANIFESTS_READ_MAX]:
            manifest = self.directory.read_manifest_version(info, self.policy)
            files = None if manifest is None else _complete(manifest.files, existing, versions)
            if manifest is not None and files is not None:
                return replace(manifest, files=files)
        return None

    def _keep_newer(self, current: Mapping[str, ObjectInfo], earlier: Mapping[str, ObjectInfo]) -> Dict[str, str]:
        kept: Dict[str, str] = {}
        for name, info in current.items():
            if name not in earlier or earlier[name].generation != info.generation:
                copy = f'{ROLLED_BACK_PREFIX}attempt-{self.directory.author.attempt}/{name}'
                self.directory.copy(copy, info, self.policy)
                kept[name] = copy
        return kept


def _complete(
    files: Mapping[str, ObjectInfo],
    existing: Mapping[Tuple[str, str], ObjectInfo],
    versions: Mapping[str, Sequence[ObjectInfo]],
) -> Optional[Dict[str, ObjectInfo]]:
    """
    Returns the files, with the times of their uploads, if all of them exist. A log that has been appended to since is
    as good as its earlier version, which the bucket may have deleted: logs change all the time.
    """
    complete = {}
    for name, info in files.items():
        if (name, info.generation) in existing:
            complete[name] = replace(info, created_at=existing[name, info.generation].created_at)
        elif is_log_name(name) and name in versions:
            complete[name] = max(versions[name], key=lambda one: int(one.generation))
        else:
            return None
    return complete


def _saved_until(files: Mapping[str, ObjectInfo]) -> Optional[float]:
    return max((info.created_at for info in files.values()), default=None)
