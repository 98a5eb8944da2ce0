"""The job directory in the bucket, as one attempt may write it: never over the output of a later attempt."""

from dataclasses import replace
from pathlib import Path
from typing import Callable, Dict, Iterator, Mapping, Optional, Tuple

from vm_agent.http.retry import RetryPolicy, TransientError, call_with_retry
from vm_agent.storage.client import Author, ObjectInfo, PreconditionFailed, Storage, Upload, split_gs_uri
from vm_agent.storage.manifest import Manifest, decode_manifest, encode_manifest
from vm_agent.storage.output_files import MANIFEST_NAME
from vm_agent.storage.resumable_upload import upload_file

CONFLICT_TRIES_MAX = 5


class Fenced(Exception):
    """A later attempt owns the job directory."""

    def __init__(self, attempt: int) -> None:
        super().__init__(f'Attempt {attempt} of the job has taken over the job directory.')


class JobDirectory:
    """All methods raise StorageRejected or TransientError; those that write or read the manifest also raise Fenced."""

    def __init__(self, storage: Storage, job_dir: str, author: Author) -> None:
        self._storage = storage
        self.author = author
        self.bucket, path = split_gs_uri(job_dir)
        self.prefix = f'{path}/' if path else ''
        self._generations: Dict[str, str] = {}

    def claim(self, policy: RetryPolicy) -> Manifest:
        """
        Makes this attempt the owner of the directory, before anything is read from it or run: from here on, earlier
        attempts are fenced. Returns the last manifest with this attempt as author.
        """
        previous = self.read_manifest(policy)
        # The claim keeps `files` and `complete_to`: if this attempt ends before it saves anything, the next one must
        # restore the same files.
        claimed = replace(previous, author=self.author)
        self._write_manifest(claimed, policy)
        return claimed

    def read_manifest(self, policy: RetryPolicy) -> Manifest:
        """Returns the last manifest; an empty one, complete to generation 0, if there is none."""
        found = self._storage.read(self.bucket, self.prefix + MANIFEST_NAME, policy)
        manifest = Manifest(None, {}, '0') if found is None else self._decode(*found)
        self._check_fence(manifest.author)
        self._generations[MANIFEST_NAME] = '0' if found is None else found[1]
        return manifest

    def check_claim(self, policy: RetryPolicy) -> None:
        """Raises Fenced if a later attempt has claimed the directory since."""
        self._refresh_generation(MANIFEST_NAME, policy)

    def write_manifest(self, files: Mapping[str, ObjectInfo], policy: RetryPolicy) -> None:
        """Commits the uploaded files: what the manifest names is what a later attempt restores."""
        self._write_manifest(Manifest(self.author, files), policy)

    def upload(self, name: str, path: Path, policy: RetryPolicy) -> ObjectInfo:
        """Uploads one file. Also raises FileChanged or OSError."""
        return self._write(name, lambda upload: upload_file(self._storage, upload, path, policy), policy)

    def list(self, policy: RetryPolicy) -> Iterator[Tuple[str, ObjectInfo]]:
        """Yields the live objects with their names below the directory."""
        for info in self._storage.list(self.bucket, self.prefix, policy):
            yield info.name[len(self.prefix) :], info

    def download(self, info: ObjectInfo, target: Path, policy: RetryPolicy) -> None:
        """Downloads one generation. Also raises ContentMismatch or OSError."""
        target.parent.mkdir(parents=True, exist_ok=True)
        self._storage.download(info, target, policy)

    def stat(self, name: str, policy: RetryPolicy) -> Optional[ObjectInfo]:
        """Returns the live object, or None."""
        return call_with_retry(lambda: self._storage.stat(self.bucket, self.prefix + name), policy)

    def record_generation(self, name: str, generation: str) -> None:
        """Records the live generation of a name, so that the first upload over it meets no conflict."""
        self._generations[name] = generation

    def _decode(self, body: bytes, generation: str) -> Manifest:
        try:
            manifest = decode_manifest(body, self.bucket, self.prefix)
        except ValueError:
            # A user's file of this name, or a damaged manifest: it fences no attempt, and is replaced.
            return Manifest(None, {}, '0')
        return manifest if manifest.complete_to is not None else replace(manifest, complete_to=generation)

    def _write_manifest(self, manifest: Manifest, policy: RetryPolicy) -> None:
        body = encode_manifest(manifest)
        self._write(
            MANIFEST_NAME, lambda upload: call_with_retry(lambda: self._storage.insert(upload, body), policy), policy
        )

    def _write(self, name: str, send: Callable[[Upload], ObjectInfo], policy: RetryPolicy) -> ObjectInfo:
        for _ in range(CONFLICT_TRIES_MAX):
            upload = Upload(self.bucket, self.prefix + name, self._generations.get(name, '0'), self.author)
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
        self._generations[name] = '0' if current is None else current.generation

    def _check_fence(self, author: Optional[Author]) -> None:
        if author is not None and author.fences(self.author):
            raise Fenced(author.attempt)
