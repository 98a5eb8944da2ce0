"""
The files of all replicas as one set: which object each file is, and which files belong together. A job with one replica
is a cluster of one.
"""

import re
from typing import AbstractSet, Dict, Iterable, List, Mapping, Sequence, Set

from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.directory.object_names import WORK_PREFIX, local_name, replica_name_of
from vm_agent.storage.output.local_files import MASTER, View
from vm_agent.storage.output.open_files import is_log_name
from vm_agent.storage.output.output_files import parent_of
from vm_agent.storage.transfer.client import ObjectInfo

class JointSet:
    """The changes that the replicas of one attempt have made to the manifest from which it began."""

    def __init__(self, base: Manifest, prefix: str) -> None:
        """`prefix` is that of the job directory."""
        self.base = base
        self._prefix = prefix
        self.owned: Dict[str, Dict[str, ObjectInfo]] = {}
        """The files that replicas have written in this attempt, in their committed versions."""
        self.gone: Dict[str, AbstractSet[str]] = {}
        """By replica, the names in `base` that it has deleted."""

    def resume(self, manifest: Manifest) -> None:
        """Continues from what this attempt had committed before a reboot of the master."""
        for name, info in manifest.files.items():
            before = self.base.files.get(name)
            writer = manifest.writers.get(name, MASTER)
            local = local_name(name, writer)
            if local is not None and (before is None or before.generation != info.generation):
                self.owned.setdefault(writer, {})[local] = info
        self.gone[MASTER] = self.base.files.keys() - manifest.files.keys()

    def copy(self) -> 'JointSet':
        copied = JointSet(self.base, self._prefix)
        copied.owned, copied.gone = dict(self.owned), dict(self.gone)
        return copied

    def to_manifest(self) -> Manifest:
        """Returns the set without its author, number and reports."""
        gone: Set[str] = set().union(*self.gone.values())
        files = {name: info for name, info in self.base.files.items() if name not in gone}
        writers = {name: replica for name, replica in self.base.writers.items() if name in files}
        for replica, own in self.owned.items():
            for info in own.values():
                name = info.name[len(self._prefix) :]
                files[name] = info
                writers[name] = replica
        return Manifest(None, files, writers={name: one for name, one in writers.items() if one != MASTER})


def assign_names(views: Mapping[str, View], joint: JointSet) -> Dict[str, Dict[str, str]]:
    """
    Returns, by replica, the name of the object of each of its files. If several replicas have written a name, the first
    of them has it, and each other a name below `dropforge-replicas/`, also in later attempts. A replica that has ended
    keeps its names. `views` are in the order of the replicas.
    """
    absent = [replica for replica in joint.owned if replica not in views]
    owners = {
        name: replica
        for replica in absent
        for name, info in joint.owned[replica].items()
        if not info.name.endswith(replica_name_of(replica, name))
    }
    for replica, view in views.items():
        for name in view.own:
            if replica_name_of(replica, name) not in joint.base.files:
                owners.setdefault(name, replica)
    return {
        replica: {name: name if owners.get(name) == replica else replica_name_of(replica, name) for name in view.own}
        for replica, view in views.items()
    }


def folder_of(name: str) -> str:
    """Returns the outermost folder of a file: '' for files directly in the output or the working directory."""
    prefix = WORK_PREFIX if name.startswith(WORK_PREFIX) else ''
    return prefix + name[len(prefix) :].partition('/')[0] if '/' in name[len(prefix) :] else prefix


def find_shared(views: Mapping[str, View], names: Iterable[str]) -> AbstractSet[str]:
    """Returns the directories of these files in which several replicas write."""
    folders = {parent_of(name) for name in names}
    writers: Dict[str, Set[str]] = {}
    for replica, view in views.items():
        for name in (*view.own, *view.unfinished):
            if not is_log_name(name):
                writers.setdefault(parent_of(name), set()).add(replica)
    return {folder for folder in folders if len(writers.get(folder, ())) > 1}


def find_depending(joint: JointSet, seen: Mapping[str, Iterable[str]], missing: Sequence[str]) -> AbstractSet[str]:
    """
    Returns the kinds of folders in which the missing replicas have saved: what others save in them now may belong to
    what is missing. Logs do not count. `seen` has the files that replicas had in their last snapshot.
    """
    names: List[str] = [name for replica in missing for name in (*joint.owned.get(replica, ()), *seen.get(replica, ()))]
    names += [name for name, replica in joint.base.writers.items() if replica in missing]
    return {kind_of(name) for name in names if not is_log_name(name)}


def kind_of(name: str) -> str:
    """Returns the outermost folder of a file without its numbers: every replica saves in the next one, too."""
    return re.sub(r'\d+', '#', folder_of(name))
