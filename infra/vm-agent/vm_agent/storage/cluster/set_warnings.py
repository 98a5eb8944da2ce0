"""Warnings about files that a set does not have as their programs wrote them."""

from typing import Dict, Iterable, Sequence, Set

from vm_agent.storage.cluster.framework_index import Incomplete
from vm_agent.storage.cluster.joint_set import without_numbers
from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.directory.object_names import replica_name_of
from vm_agent.storage.output.local_files import LocalFiles
from vm_agent.storage.output.output_files import parents_of

NAMES_SHOWN_MAX = 3
INCOMPLETE_ROUNDS_MAX = 5
FULL_SHARE = 0.8
ALLOW_TCP = 'Allow TCP between the VMs of the job.'


class SetWarnings:
    """Each is given once, and what no attempt restores is a finding of the job, too."""

    def __init__(self, files: LocalFiles) -> None:
        self._files = files
        self._told: Set[str] = set()
        self._incomplete: Dict[str, int] = {}

    def add_absent(self, replicas: Iterable[str]) -> None:
        self._files.warn_unsaved(
            f'The agent of {" and ".join(replicas)} is not connected to that of the master: what it writes is not saved, '
            'nor what others write into the folders in which it has saved.',
            ALLOW_TCP,
        )

    def add_held(self, objects: Sequence[str], missing: Sequence[str]) -> None:
        lost = f' without those of {" and ".join(missing)}' if missing else ''
        self._files.warn_unsaved(
            f'{len(objects)} files would be a part of a checkpoint{lost}, and no attempt restores them: the next one '
            'continues from the last complete checkpoint.',
            f'They are in the job directory as {shorten(objects)}.',
        )

    def add_incomplete(self, index: str, incomplete: Incomplete, is_last: bool) -> None:
        """`is_last`: the programs have ended, so that it stays as it is."""
        kind = without_numbers(index)
        message = f'{index} names files that no replica has saved ({shorten(incomplete.missing)}): it is not restored.'
        if is_last:
            remedy = 'Save all files that an index names, or delete the index. All files are in the job directory.'
            self._files.warn_unsaved(message, remedy)
        else:
            # In a healthy save, the index is there before the last shard.
            self._incomplete[kind] = self._incomplete.get(kind, 0) + 1
            if self._incomplete[kind] == INCOMPLETE_ROUNDS_MAX:
                self._files.warn_once(message)

    def add_size(self, manifest: Manifest, bytes_max: int) -> None:
        """Every replica restores all files, though its program has written only a part of them."""
        size_bytes = sum(info.size_bytes for info in manifest.files.values())
        if size_bytes > FULL_SHARE * bytes_max > 0 and 'size' not in self._told:
            self._told.add('size')
            self._files.warn_unsaved(
                f'The files of all replicas have {size_bytes} bytes, and each replica restores all of them after an '
                f'interruption: of its disk, {bytes_max} bytes may be used.',
                'Request a larger boot disk (bootDiskSizeGb), or delete older checkpoints.',
            )

    def add_conflicts(self, manifest: Manifest) -> None:
        """Says once of each replica that it writes other files under the names of another replica's."""
        for replica in sorted(set(manifest.writers.values()) - self._told):
            prefix = replica_name_of(replica, '')
            names = sorted(name[len(prefix) :] for name in manifest.files if name.startswith(prefix))
            different = [name for name in names if not _has_same_bytes(manifest, name, prefix + name)]
            if different:
                self._told.add(replica)
                self._files.warn_once(
                    f'{replica} and another replica write different files of one name ({shorten(different)}). All are '
                    f'kept: those of {replica} are in {prefix} of the job directory, and it finds its own again. Put the '
                    'rank into the name if others are to read them.'
                )


def _has_same_bytes(manifest: Manifest, name: str, other: str) -> bool:
    one, two = manifest.files.get(name), manifest.files[other]
    if one is None:
        # Another replica may have a file where this one has a folder.
        return manifest.files.keys().isdisjoint(parents_of(name))
    return (one.size_bytes, one.crc32c) == (two.size_bytes, two.crc32c)


def shorten(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN_MAX
    return ', '.join(names[:NAMES_SHOWN_MAX]) + (f' and {more} more' if more > 0 else '')
