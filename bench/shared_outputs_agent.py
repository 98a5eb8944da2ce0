"""Saves the output of a replica with those of the others, as the agent does; prints what happens as lines of JSON."""

import json
import sys
import threading
import time
from pathlib import Path
from typing import Dict, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'infra' / 'vm-agent'))

from vm_agent.http.cached_token import CachedToken
from vm_agent.http.retry import RetryPolicy
from vm_agent.storage.cluster.member import Member
from vm_agent.storage.cluster.output_sync import OutputSync
from vm_agent.storage.cluster.peers import Peers
from vm_agent.storage.cluster.rounds import Rounds
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.output.local_files import MASTER, LocalFiles
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.staging import Staging
from vm_agent.storage.transfer.client import Author, Storage

DISK_BYTES_MAX = 1 << 40
SECRET = '5e' * 32
POLICY = RetryPolicy(tries_max=sys.maxsize, seconds_max=1_800)


def now_ms() -> float:
    return time.time() * 1_000


def emit(kind: str, taken_ms: float = 0, files: Sequence[str] = ()) -> None:
    print(json.dumps({'kind': kind, 'takenAt': taken_ms, 'at': now_ms(), 'files': files}), flush=True)


class ObservedDirectory(JobDirectory):
    taken_ms = 0.0
    """When all replicas had taken their snapshots."""

    def write_manifest(self, manifest: Manifest, policy: RetryPolicy, marks: Tuple[str, ...] = ()) -> Manifest:
        written = super().write_manifest(manifest, policy, marks)
        emit('committed', self.taken_ms, sorted(manifest.files))
        return written


def main(url: str, job_dir: str, home: str, members: str, port: str, interval_seconds: str) -> None:
    """Saves rounds until it is killed. `home` is named after the replica."""
    replica = Path(home).name

    def log(text: str, severity: str) -> None:
        print(f'{replica}: {severity} {text}', file=sys.stderr)

    storage = Storage(url, CachedToken(lambda: ('token', time.time() + 3_600)))
    directory = ObservedDirectory(storage, job_dir, Author('bench', 1))
    tree = OutputTree(Path(home, 'output'))
    files = LocalFiles(directory, tree, Staging(Path(home, 'staging'), tree, lambda: DISK_BYTES_MAX), log)
    files.replica = replica
    if replica == MASTER:
        sync = open_master(directory, files, Peers(members.split(','), int(port), lambda: SECRET, log))
    else:
        sync = Member(directory, files, f'127.0.0.1:{port}', lambda: SECRET)
    sync.start(float(interval_seconds), lambda fenced: log(str(fenced), 'ERROR'))
    threading.Event().wait()


def open_master(directory: ObservedDirectory, files: LocalFiles, peers: Peers) -> OutputSync:
    directory.claim(POLICY)
    rounds = Rounds(directory, files, peers)

    def on_taken() -> Dict[str, int]:
        directory.taken_ms = now_ms()
        return {}

    rounds.count_reports = on_taken
    sync = OutputSync(files, rounds, peers)

    def on_due() -> None:
        sync.request_sync()
        if not peers.find_missing():
            emit('connected')

    peers.on_due = on_due
    return sync


main(*sys.argv[1:])
