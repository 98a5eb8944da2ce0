"""Saves, restores or just uploads a folder as the agent does; prints the seconds that it took, and the peak memory in bytes."""

import json
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'infra' / 'vm-agent'))

from vm_agent.http.cached_token import CachedToken
from vm_agent.http.retry import RetryPolicy
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.cluster.output_sync import OutputSync
from vm_agent.storage.cluster.peers import Peers
from vm_agent.storage.cluster.rounds import Rounds
from vm_agent.storage.output.local_files import LocalFiles
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.staging import Staging
from vm_agent.storage.restore.restore import Restore
from vm_agent.storage.transfer.client import Author, Storage

DISK_BYTES_MAX = 1 << 40


def main(direction: str, url: str, job_dir: str, folder: Path) -> None:
    def log(text: str, severity: str) -> None:
        print(f'{severity} {text}', file=sys.stderr)

    started_at = time.monotonic()
    policy = RetryPolicy(tries_max=sys.maxsize, seconds_max=1_800)
    storage = Storage(url, CachedToken(lambda: ('token', time.time() + 3_600)))
    attempt = 2 if direction == 'restore' else 1
    directory = JobDirectory(storage, job_dir, Author('bench', attempt))
    tree = OutputTree(folder)
    if direction == 'upload':
        storage.transfers.map(lambda path: directory.upload(path.name, path, policy), folder.iterdir())
    elif direction == 'save':
        directory.claim(policy)
        staging = Staging(folder.parent / 'staging', tree, lambda: DISK_BYTES_MAX)
        files, peers = LocalFiles(directory, tree, staging, log), Peers((), 0, str, log)
        problems = OutputSync(files, Rounds(directory, files, peers), peers).finish(policy)
        if problems:
            sys.exit(f'Not saved: {problems}')
    else:
        folder.mkdir()
        Restore(directory, tree, DISK_BYTES_MAX, policy, log).run(directory.claim(policy))
    seconds = time.monotonic() - started_at
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024
    print(json.dumps({'seconds': seconds, 'peakMemoryBytes': peak_bytes}))


main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))
