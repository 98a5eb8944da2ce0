"""The job directory in the bucket, as one attempt may write it: never over the work of a later attempt."""

from dataclasses import replace
from pathlib import Path
from typing import Callable, Dict, Iterator, Mapping, Optional, Tuple

from vm_agent.config import split_gs_uri
from vm_agent.manifest import Manifest, decode_manifest, encode_manifest
from vm_agent.output_files import MANIFEST_NAME
from vm_agent.resumable_upload import upload_file
from vm_agent.retry import PassingFault, Patience, call_patiently
from vm_agent.storage import Author, ObjectInfo, PreconditionFailed, Storage, Upload

CONFLICT_TRIES_MAX = 5


class Fenced(Exception):
    """A later attempt owns the job directory now."""

    def __init__(self, attempt: int) -> None:
        super().__init__(f'Attempt {attempt} of the job has taken over the job directory.')


class JobDirectory:
    def __init__(self, storage: Storage, job_dir: str, author: Author) -> None:
        self._storage = storage
        self.author = author
        self.bucket, path = split_gs_uri(job_dir)
        self.prefix = f'{path}/' if path else ''
        self._generations: Dict[str, str] = {}

    def claim(self, patience: Patience) -> Manifest:
        """
        Marks the directory as this attempt's, before anything is read from it or run: from here on older attempts find
        themselves fenced. Answers the files that the last manifest named. Raises Fenced, StorageRefused, PassingFault.
        """
        previous = self.read_manifest(patience)
        # This attempt has saved nothing yet: what it may die on now must leave the next one the same truth.
        claimed = replace(previous, author=self.author)
        self._write_manifest(claimed, patience)
        return claimed

    def read_manifest(self, patience: Patience) -> Manifest:
        """What was sealed last; nothing, complete to generation 0, where nothing ever was. Raises as `claim`."""
        found = self._storage.read(self.bucket, self.prefix + MANIFEST_NAME, patience)
        manifest = Manifest(None, {}, '0') if found is None else self._decode(*found)
        self._yield_to(manifest.author)
        self._generations[MANIFEST_NAME] = '0' if found is None else found[1]
        return manifest

    def check_claim(self, patience: Patience) -> None:
        """Raises Fenced where a later attempt has claimed the directory since."""
        self._learn_generation(MANIFEST_NAME, patience)

    def write_manifest(self, files: Mapping[str, ObjectInfo], patience: Patience) -> None:
        """Seals what was saved. Raises as `save`."""
        self._write_manifest(Manifest(self.author, files), patience)

    def save(self, name: str, path: Path, patience: Patience) -> ObjectInfo:
        """Uploads one file. Raises Fenced, StorageRefused, FileChanged, OSError or PassingFault."""
        return self._write(name, lambda upload: upload_file(self._storage, upload, path, patience), patience)

    def list(self, patience: Patience) -> Iterator[Tuple[str, ObjectInfo]]:
        """The live objects by their names below the directory."""
        for info in self._storage.list(self.bucket, self.prefix, patience):
            yield info.name[len(self.prefix) :], info

    def fetch(self, info: ObjectInfo, target: Path, patience: Patience) -> None:
        """Downloads one generation. Raises StorageRefused, ContentDiffers, OSError or PassingFault."""
        target.parent.mkdir(parents=True, exist_ok=True)
        self._storage.download(info, target, patience)

    def look(self, name: str, patience: Patience) -> Optional[ObjectInfo]:
        """The live object, or None. Raises StorageRefused or PassingFault."""
        return call_patiently(lambda: self._storage.stat(self.bucket, self.prefix + name), patience)

    def know(self, name: str, generation: str) -> None:
        """What is in the bucket under that name, so that the first upload over it meets no surprise."""
        self._generations[name] = generation

    def _decode(self, body: bytes, generation: str) -> Manifest:
        try:
            manifest = decode_manifest(body, self.bucket, self.prefix)
        except ValueError:
            # A user's file of this name, or a torn one: it binds nobody, and is replaced.
            return Manifest(None, {}, '0')
        return manifest if manifest.complete_to is not None else replace(manifest, complete_to=generation)

    def _write_manifest(self, manifest: Manifest, patience: Patience) -> None:
        body = encode_manifest(manifest)
        self._write(
            MANIFEST_NAME, lambda upload: call_patiently(lambda: self._storage.insert(upload, body), patience), patience
        )

    def _write(self, name: str, send: Callable[[Upload], ObjectInfo], patience: Patience) -> ObjectInfo:
        for _ in range(CONFLICT_TRIES_MAX):
            upload = Upload(self.bucket, self.prefix + name, self._generations.get(name, '0'), self.author)
            try:
                info = send(upload)
            except PreconditionFailed:
                self._learn_generation(name, patience)
                continue
            self._generations[name] = info.generation
            return info
        raise PassingFault(f'{name} is being written by somebody else all the time.')

    def _learn_generation(self, name: str, patience: Patience) -> None:
        """Looks who wrote the object last: what no later attempt wrote may be replaced."""
        current = self.look(name, patience)
        self._yield_to(None if current is None else current.author)
        self._generations[name] = '0' if current is None else current.generation

    def _yield_to(self, author: Optional[Author]) -> None:
        if author is not None and author.fences(self.author):
            raise Fenced(author.attempt)
