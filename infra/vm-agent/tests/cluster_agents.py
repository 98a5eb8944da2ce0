"""The agents of a cluster in one process: each with its own files, one bucket, and real connections between them."""

import random
import secrets
import socket
import time
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Type, Union

from fake_storage import BUCKET, FakeStorage
from vm_agent.http.retry import RetryPolicy
from vm_agent.storage.cluster.member import Member
from vm_agent.storage.cluster.output_sync import OutputSync
from vm_agent.storage.cluster.peers import Peers
from vm_agent.storage.cluster.rounds import Rounds
from vm_agent.storage.directory.job_directory import Fenced, JobDirectory
from vm_agent.storage.directory.manifest import Manifest, decode_manifest
from vm_agent.storage.directory.object_names import MANIFEST_NAME
from vm_agent.storage.output.local_files import MASTER, LocalFiles
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.staging import Staging
from vm_agent.storage.restore.restore import Restore
from vm_agent.storage.transfer.client import Author

POLICY = RetryPolicy(tries_max=5, seconds_max=30)
BYTES_MAX = 1_000_000_000
# Below the ports that operating systems give to outgoing connections.
PORTS = range(10_000, 30_000)


def free_port() -> int:
    while True:
        port = random.choice(PORTS)
        try:
            socket.create_server(('', port)).close()
            return port
        except OSError:
            # Another test has it.
            continue


def await_true(holds: Callable[[], bool], seconds_max: float = 20.0) -> None:
    give_up_at = time.monotonic() + seconds_max
    while not holds():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


class Agent:
    """The agent of one replica, as far as it saves and restores files."""

    def __init__(self, cluster: 'Cluster', replica: str) -> None:
        self.replica = replica
        self.is_cluster = len(cluster.replicas) > 1
        self.home = cluster.home / f'attempt-{cluster.attempt}' / replica
        self.output = self.home / 'output'
        self.output.mkdir(parents=True)
        self.warnings: List[str] = []
        self.fenced: List[Fenced] = []
        self._boot(cluster)

    def _boot(self, cluster: 'Cluster') -> None:
        self.directory = JobDirectory(cluster.cloud.connect(), f'gs://{BUCKET}/p', Author('fsdp', cluster.attempt))
        tree = OutputTree(self.output)
        staging = Staging(self.home / 'staging', tree, lambda: BYTES_MAX)
        self.files = LocalFiles(self.directory, tree, staging, self._log)
        self.files.replica = self.replica
        self.sync = self._open(cluster, self.replica)

    def _open(self, cluster: 'Cluster', replica: str) -> Union[OutputSync, Member]:
        if replica != MASTER:
            return Member(self.directory, self.files, f'127.0.0.1:{cluster.port}', lambda: cluster.secrets[replica])
        others = [name for name in cluster.replicas if name != MASTER]
        peers = Peers(others, cluster.port, lambda: cluster.secret, self._log)
        return OutputSync(self.files, cluster.rounds_type(self.directory, self.files, peers), peers)

    def restore(self) -> List[str]:
        """Claims the directory on the master; returns the names of the restored files."""
        claimed = self.directory.claim(POLICY) if self.replica == MASTER else self.directory.read_manifest(POLICY)
        restore = Restore(self.directory, self.files.tree, BYTES_MAX, POLICY, self._log, self.replica, self.is_cluster)
        restored = restore.run(claimed)
        self.files.record_restored(restored, claimed)
        self.files.write_restored(self.home / 'restored.json')
        self.sync.resume(claimed)
        return sorted(restored)

    def reboot(self, cluster: 'Cluster') -> None:
        """The agent is started again, with the files of its disk."""
        self.close()
        self._boot(cluster)
        self.files.record_reboot(self.directory.read_manifest(POLICY), self.home / 'restored.json')
        self.sync.resume(cluster.manifest())

    def close(self) -> None:
        """The VM is gone."""
        self.sync.stop()

    def start(self, interval_seconds: float) -> None:
        self.sync.start(interval_seconds, self.fenced.append)

    def write(self, name: str, text: str) -> None:
        path = self.output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self) -> Dict[str, str]:
        found = (path for path in self.output.rglob('*') if path.is_file())
        return {str(path.relative_to(self.output)): path.read_text() for path in found}

    def _log(self, text: str, _severity: str) -> None:
        self.warnings.append(text)


class Cluster:
    def __init__(
        self, cloud: FakeStorage, home: Path, count: int, attempt: int = 1, rounds_type: Type[Rounds] = Rounds
    ) -> None:
        self.cloud, self.home, self.attempt = cloud, home, attempt
        self.rounds_type = rounds_type
        self.port = free_port()
        self.replicas: Sequence[str] = [MASTER, *(f'worker-{index}' for index in range(count - 1))]
        # Another test may have the same port later.
        self.secret = secrets.token_hex(32)
        self.secrets = dict.fromkeys(self.replicas, self.secret)
        self.agents = {replica: Agent(self, replica) for replica in self.replicas}
        self.restored = {replica: agent.restore() for replica, agent in self.agents.items()}

    @property
    def master(self) -> Agent:
        return self.agents[MASTER]

    def start(self, interval_seconds: float = 0.2) -> None:
        self.interval_seconds = interval_seconds
        for agent in self.agents.values():
            agent.start(interval_seconds)

    def reboot(self, replica: str) -> None:
        self.agents[replica].reboot(self)
        self.agents[replica].start(self.interval_seconds)

    def manifest(self) -> Manifest:
        return decode_manifest(self.cloud.objects[f'p/{MANIFEST_NAME}'].body, BUCKET, 'p/')

    def committed(self) -> Dict[str, str]:
        """Returns what the manifest names, by the name of the object."""
        files = self.manifest().files
        found: Dict[str, str] = {}
        for name, info in files.items():
            live = self.cloud.objects.get(info.name)
            is_live = live is not None and str(live.generation) == info.generation
            stored = live if live is not None and is_live else self.cloud.versions[info.name, info.generation]
            found[name] = stored.body.decode()
        return found

    def await_commit(self, holds: Callable[[Dict[str, str]], bool], seconds_max: float = 20.0) -> Dict[str, str]:
        """Waits for a manifest; fails with the last one."""
        give_up_at = time.monotonic() + seconds_max
        while not holds(self.committed()):
            if time.monotonic() > give_up_at:
                warnings = {name: agent.warnings for name, agent in self.agents.items()}
                raise AssertionError(f'not committed: {self.committed()}; {warnings}')
            time.sleep(0.02)
        return self.committed()
