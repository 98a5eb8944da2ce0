"""An agent that saves the output of a program into a fake bucket, and every commit that it has made."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Mapping, Optional

from fake_storage import BUCKET, FakeStorage, StoredObject
from single_replica import open_sync
from vm_agent.http.retry import RetryPolicy
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.manifest import Manifest, decode_manifest
from vm_agent.storage.directory.object_names import MANIFEST_NAME
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.staging import Staging
from vm_agent.storage.restore.restore import Restore
from vm_agent.storage.transfer.client import Author

POLICY = RetryPolicy(tries_max=5, seconds_max=30)
BYTES_MAX = 1_000_000_000


@dataclass(frozen=True)
class Commit:
    """The files that a manifest names: what an interruption would restore from then on."""

    at: float
    upload_seconds: float
    manifest: Manifest
    files: Mapping[str, bytes]


class Objects(Dict[str, StoredObject]):
    """The live objects; records what each manifest commits."""

    def __init__(self, cloud: FakeStorage) -> None:
        super().__init__()
        self.commits: List[Commit] = []
        self._cloud = cloud
        self._upload_began_at: Optional[float] = None

    def __setitem__(self, name: str, stored: StoredObject) -> None:
        super().__setitem__(name, stored)
        self._cloud.versions[name, str(stored.generation)] = stored
        if name != f'p/{MANIFEST_NAME}':
            self._upload_began_at = self._upload_began_at or time.time()
            return
        now = time.time()
        manifest = decode_manifest(stored.body, BUCKET, 'p/')
        files = {file: self._cloud.versions[info.name, info.generation].body for file, info in manifest.files.items()}
        self.commits.append(Commit(now, now - (self._upload_began_at or now), manifest, files))
        self._upload_began_at = None


class SavingAgent:
    def __init__(self, home: Path, interval_seconds: float) -> None:
        self.output = home / 'output'
        self.output.mkdir()
        self.warnings: List[str] = []
        self._cloud = FakeStorage()
        self._objects = self._cloud.objects = Objects(self._cloud)
        self._directory = JobDirectory(self._cloud.connect(), f'gs://{BUCKET}/p', Author('digits', 1))
        self._directory.claim(POLICY)
        tree = OutputTree(self.output)
        staging = Staging(home / 'staging', tree, lambda: BYTES_MAX)
        self._sync = open_sync(self._directory, tree, staging, self._log)
        self._sync.start(interval_seconds, lambda fenced: self.warnings.append(str(fenced)))

    def _log(self, text: str, _severity: str) -> None:
        self.warnings.append(text)

    def commits_before(self, at: float) -> List[Commit]:
        return [commit for commit in self._objects.commits if commit.at <= at]

    def restore(self, commit: Commit, folder: Path) -> None:
        """Restores what the next attempt would find if everything had been killed after this commit."""
        folder.mkdir()
        restore = Restore(self._directory, OutputTree(folder), BYTES_MAX, POLICY, lambda _text, _severity: None)
        restore.run(commit.manifest)

    def close(self) -> None:
        self._sync.finish(POLICY)
        self._cloud.close()
