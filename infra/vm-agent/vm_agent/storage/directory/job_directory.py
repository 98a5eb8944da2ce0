"""The job directory in the bucket, as one attempt may write it: never over the output of a later attempt."""

from dataclasses import replace
from pathlib import Path
from typing import Callable, Dict, Iterable, Iterator, Mapping, Optional, Sequence, Tuple

from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry
from vm_agent.storage.directory.manifest import Manifest, decode_manifest, encode_manifest
from vm_agent.storage.directory.object_names import MANIFEST_NAME, PARTS_PREFIX, REPLICAS_PREFIX, is_restorable
from vm_agent.storage.transfer.body import MemoryBody
from vm_agent.storage.transfer.client import Author, ObjectInfo, PreconditionFailed, Storage, Upload, split_gs_uri
from vm_agent.storage.transfer.download import download_file
from vm_agent.storage.transfer.upload import delete_parts, open_upload

CONFLICT_TRIES_MAX = 5


class Fenced(Exception):
    """A later attempt owns the job directory."""

    def __init__(self, attempt: int) -> None:
        super().__init__(f'Attempt {attempt} of the job has taken over the job directory.')


class JobDirectory:
    """
    All methods raise StorageRejected or TransientError, and are thread-safe but for those that write or read the
    manifest, which also raise Fenced.
    """

    def __init__(self, storage: Storage, job_dir: str, author: Author) -> None:
        self.storage = storage
        self.author = author
        self.bucket, path = split_gs_uri(job_dir)
        self.prefix = f'{path}/' if path else ''
        self._generations: Dict[str, str] = {}
        self._uploaded: Dict[str, ObjectInfo] = {}
        self._named: Optional[Mapping[str, ObjectInfo]] = None
        self.is_shared = False
        """Whether another replica writes the manifest: it may name any object that this one has not uploaded itself."""

    def name_of(self, info: ObjectInfo) -> str:
        """Returns the name of one of its objects below the directory."""
        return info.name[len(self.prefix) :]

    def claim(self, policy: RetryPolicy) -> Manifest:
        """
        Makes this attempt the owner of the directory, before anything is read from it or run: from here on, earlier
        attempts are fenced. Returns the last manifest with this attempt as author.
        """
        previous = self.read_manifest(policy)
        # The claim keeps `files`: if this attempt ends before it saves anything, the next one must restore the same.
        return self.write_manifest(previous, policy)

    def read_manifest(self, policy: RetryPolicy) -> Manifest:
        """Returns the last manifest; an empty one if there is none."""
        found = self.storage.read(self.bucket, self.prefix + MANIFEST_NAME, policy)
        manifest = Manifest(None) if found is None else self._decode(found[0])
        self._check_fence(manifest.author)
        self._generations[MANIFEST_NAME] = '0' if found is None else found[1]
        self._named = manifest.files
        return manifest

    def check_claim(self, policy: RetryPolicy) -> None:
        """Raises Fenced if a later attempt has claimed the directory since."""
        self._refresh_generation(MANIFEST_NAME, policy)

    def write_manifest(self, manifest: Manifest, policy: RetryPolicy, marks: Tuple[str, ...] = ()) -> Manifest:
        """
        Commits the uploaded files: what the manifest names is what a later attempt restores. For `marks`, see Upload.
        Returns it with this attempt as the author.
        """
        committed = replace(manifest, author=self.author)
        body = MemoryBody(encode_manifest(committed))
        # If the answer is lost, it is not known which generations the manifest names.
        self._named = None

        def send(upload: Upload) -> ObjectInfo:
            return call_with_retry(lambda: self.storage.insert(replace(upload, marks=marks), body), policy)

        self._write(MANIFEST_NAME, send, policy)
        self._named = manifest.files
        return committed

    def record_named(self, objects: Iterable[ObjectInfo]) -> None:
        """Records which uploads of this replica the manifest names, which the master's agent writes."""
        self._named = {self.name_of(info): info for info in objects}

    def forget_named(self) -> None:
        """It is unknown which uploads the manifest names."""
        self._named = None

    def upload(self, name: str, path: Path, policy: RetryPolicy) -> ObjectInfo:
        """Uploads one file. Also raises FileChanged or OSError."""
        with open_upload(self.storage, path) as file:
            info = self._write(name, lambda upload: file.write(upload, policy), policy)
        self._delete_replaced(name, info)
        return info

    def upload_bytes(self, name: str, data: bytes, policy: RetryPolicy) -> ObjectInfo:
        """Uploads a small object from memory."""
        body = MemoryBody(data)
        info = self._write(
            name, lambda upload: call_with_retry(lambda: self.storage.insert(upload, body), policy), policy
        )
        self._delete_replaced(name, info)
        return info

    def copy(self, name: str, source: ObjectInfo, policy: RetryPolicy) -> ObjectInfo:
        """Copies one generation of an object of the directory within the bucket."""

        def send(upload: Upload) -> ObjectInfo:
            return call_with_retry(lambda: self.storage.compose(upload, [source], deletes_sources=False), policy)

        return self._write(name, send, policy)

    def _delete_replaced(self, name: str, info: ObjectInfo) -> None:
        """
        Deletes the version that an upload has replaced, if no manifest may name it. The bucket's lifecycle counts newer
        versions: without that, uploads that were never committed would let it delete the one that the manifest names.
        """
        replaced = self._uploaded.get(name)
        self._uploaded[name] = info
        named = None if self._named is None else self._named.get(name)
        is_known = self._named is not None and replaced is not None and replaced.generation != info.generation
        if is_known and replaced is not None and (named is None or named.generation != replaced.generation):
            delete_parts(self.storage, [replaced])

    def list(self, policy: RetryPolicy, has_versions: bool = False) -> Iterator[Tuple[str, ObjectInfo]]:
        """Yields the live objects, or all generations, with their names below the directory."""
        for info in self.storage.list(self.bucket, self.prefix, policy, has_versions):
            yield self.name_of(info), info

    def read_manifest_version(self, info: ObjectInfo, policy: RetryPolicy) -> Optional[Manifest]:
        """Returns an earlier manifest; None if it no longer exists or is not valid."""
        body = self.storage.read_version(info, policy)
        try:
            return None if body is None else decode_manifest(body, self.bucket, self.prefix)
        except ValueError:
            return None

    def has_files(self, policy: RetryPolicy) -> bool:
        """Whether it has an object that is not Dropforge's own."""
        return any(is_restorable(name) or name.startswith(REPLICAS_PREFIX) for name, _ in self.list(policy))

    def download(self, info: ObjectInfo, target: Path, policy: RetryPolicy) -> None:
        """Downloads one generation. Also raises ContentMismatch or OSError."""
        target.parent.mkdir(parents=True, exist_ok=True)
        download_file(self.storage, info, target, policy)

    def delete_abandoned(self, parts: Sequence[ObjectInfo]) -> None:
        """Deletes parts that earlier attempts of this job left behind; others stay. Does not raise."""
        delete_parts(self.storage, [one for one in parts if one.author is not None and self.author.fences(one.author)])

    def stat(self, name: str, policy: RetryPolicy) -> Optional[ObjectInfo]:
        """Returns the live object, or None."""
        return call_with_retry(lambda: self.storage.stat(self.bucket, self.prefix + name), policy)

    def record_live(self, name: str, info: ObjectInfo) -> None:
        """Records the live object of a name, so that the first upload over it meets no conflict."""
        self._generations[name] = info.generation
        if info.author is not None and info.author.job_id == self.author.job_id and not self.is_shared:
            self._uploaded[name] = info

    def _decode(self, body: bytes) -> Manifest:
        try:
            return decode_manifest(body, self.bucket, self.prefix)
        except ValueError:
            # A user's file of this name, or a damaged manifest: it fences no attempt, and is replaced.
            return Manifest(None)

    def _write(self, name: str, send: Callable[[Upload], ObjectInfo], policy: RetryPolicy) -> ObjectInfo:
        for _ in range(CONFLICT_TRIES_MAX):
            generation = self._generations.get(name, '0')
            upload = Upload(self.bucket, self.prefix + name, generation, self.author, self.prefix + PARTS_PREFIX)
            try:
                info = send(upload)
            except PreconditionFailed:
                self._refresh_generation(name, policy)
                continue
            self._generations[name] = info.generation
            return info
        raise TransientError(f'{name} could not be written: another writer keeps replacing it.')

    def _refresh_generation(self, name: str, policy: RetryPolicy) -> None:
        """Reads who wrote the object last: it may be replaced unless a later attempt wrote it."""
        current = self.stat(name, policy)
        self._check_fence(None if current is None else current.author)
        self._generations[name] = '0'
        if current is not None:
            self.record_live(name, current)

    def _check_fence(self, author: Optional[Author]) -> None:
        if author is not None and author.fences(self.author):
            raise Fenced(author.attempt)
