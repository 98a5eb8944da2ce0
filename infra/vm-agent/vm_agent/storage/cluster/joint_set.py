"""
The files of all replicas as one set: which object each file is, and which files belong together. A job with one replica
is a cluster of one.
"""

import re
from types import MappingProxyType
from typing import AbstractSet, Callable, Dict, Iterable, List, Mapping, Sequence, Set, Tuple

from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.directory.object_names import WORK_PREFIX, local_name, replica_name_of
from vm_agent.storage.output.local_files import MASTER, View
from vm_agent.storage.output.open_files import is_log_name
from vm_agent.storage.output.output_files import parent_of, parents_of
from vm_agent.storage.transfer.client import ObjectInfo


class JointSet:
    """The changes that the replicas of one attempt have made to the manifest from which it began."""

    def __init__(self, base: Manifest, name_of: Callable[[ObjectInfo], str]) -> None:
        """`name_of` returns the name of an object below the job directory."""
        self.base = base
        self.name_of = name_of
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
        copied = JointSet(self.base, self.name_of)
        copied.owned, copied.gone = dict(self.owned), dict(self.gone)
        return copied

    def to_manifest(self) -> Manifest:
        """Returns the set without its author, number and reports."""
        gone: Set[str] = set().union(*self.gone.values())
        files = {name: info for name, info in self.base.files.items() if name not in gone}
        writers = {name: replica for name, replica in self.base.writers.items() if name in files}
        for replica, own in self.owned.items():
            for info in own.values():
                name = self.name_of(info)
                files[name] = info
                writers[name] = replica
        return Manifest(None, files, writers={name: one for name, one in writers.items() if one != MASTER})


def assign_names(views: Mapping[str, View], joint: JointSet) -> Dict[str, Dict[str, str]]:
    """
    Returns, by replica, the name of the object of each of its files. If several replicas have written a name, or one a
    file where another has a folder, the first of them has it, and each other a name below `dropforge-replicas/`, also in
    later attempts. A replica that has ended keeps its names. `views` are in the order of the replicas.
    """
    places = _Places()
    for replica, own in joint.owned.items():
        if replica not in views:
            for name, info in own.items():
                if joint.name_of(info) == name:
                    places.take(replica, name)
    assigned: Dict[str, Dict[str, str]] = {}
    for replica, view in views.items():
        assigned[replica] = {}
        for name in sorted(view.own):
            own_name = replica_name_of(replica, name)
            is_free = own_name not in joint.base.files and places.take(replica, name)
            assigned[replica][name] = name if is_free else own_name
    return assigned


class _Places:
    """Which replica was the first to have a file, and to have a folder."""

    def __init__(self) -> None:
        self._files: Dict[str, str] = {}
        self._folders: Dict[str, Set[str]] = {}

    def take(self, replica: str, name: str) -> bool:
        """Returns False if another replica has something in its place."""
        parents = list(parents_of(name))
        is_taken = any(self._files.get(path, replica) != replica for path in (name, *parents))
        if is_taken or self._folders.get(name, set()) - {replica}:
            return False
        self._files[name] = replica
        for parent in parents:
            self._folders.setdefault(parent, set()).add(replica)
        return True


def folder_of(name: str) -> str:
    """Returns the outermost folder of a file: '' for files directly in the output or the working directory."""
    prefix = WORK_PREFIX if name.startswith(WORK_PREFIX) else ''
    return prefix + name[len(prefix) :].partition('/')[0] if '/' in name[len(prefix) :] else prefix


def find_shared(
    views: Mapping[str, View], names: Iterable[str], changed: Mapping[str, Iterable[str]] = MappingProxyType({})
) -> AbstractSet[str]:
    """
    Returns the directories of these files in which several replicas write. `changed` has the files that replicas have
    written since their views. Logs do not count.
    """
    folders = {parent_of(name) for name in names if not is_log_name(name)}
    written = {one: (*view.own, *view.unfinished, *changed.get(one, ())) for one, view in views.items()}
    writers = _find_writers((replica, name) for replica, names in written.items() for name in names)
    return {folder for folder in folders if len(writers.get(folder, ())) > 1}


def find_depending(joint: JointSet, seen: Mapping[str, Iterable[str]], missing: Sequence[str]) -> AbstractSet[str]:
    """
    Returns the kinds of folders in which the missing replicas have saved: what others save in them now may belong to
    what is missing. Logs do not count. `seen` has the files that replicas had in their last snapshot.
    """
    names: List[str] = [name for replica in missing for name in (*joint.owned.get(replica, ()), *seen.get(replica, ()))]
    names += [name for name, replica in joint.base.writers.items() if replica in missing]
    return {kind_of(name) for name in names if not is_log_name(name)}


def find_new_kinds(views: Mapping[str, View], joint: JointSet) -> AbstractSet[str]:
    """Returns the kinds of folders in which nothing has been committed yet."""
    known = {*joint.base.files, *(name for own in joint.owned.values() for name in own)}
    new = {kind_of(name) for view in views.values() for name in view.own if not is_log_name(name) and folder_of(name)}
    return new - {kind_of(name) for name in known} - {WORK_PREFIX}


def find_without(views: Mapping[str, View], joint: JointSet, failed: Iterable[str]) -> AbstractSet[str]:
    """
    Returns the new directories that have no file of a replica whose program has failed, although it has saved in others
    of their kind: checkpoints that others have begun, or completed for their part, after its end.
    """
    committed = [(joint.base.writers.get(name, MASTER), name) for name in joint.base.files]
    committed += [(replica, name) for replica, own in joint.owned.items() for name in own]
    viewed = [(replica, name) for replica, view in views.items() for name in view.own]
    writers = _find_writers([*committed, *viewed])
    new = writers.keys() - {parent_of(name) for _, name in committed}
    kinds = {replica: {without_numbers(one) for one, own in writers.items() if replica in own} for replica in failed}
    return {
        folder
        for folder in new
        for replica, own in kinds.items()
        if folder and replica not in writers[folder] and without_numbers(folder) in own
    }


def _find_writers(files: Iterable[Tuple[str, str]]) -> Dict[str, Set[str]]:
    """Returns, by directory, the replicas that have written files in it; logs do not count. `files` has both names."""
    writers: Dict[str, Set[str]] = {}
    for replica, name in files:
        if not is_log_name(name):
            writers.setdefault(parent_of(name), set()).add(replica)
    return writers


def kind_of(name: str) -> str:
    """Returns the outermost folder of a file without its numbers: every replica saves in the next one, too."""
    return without_numbers(folder_of(name))


def without_numbers(folder: str) -> str:
    return re.sub(r'\d+', '#', folder)
