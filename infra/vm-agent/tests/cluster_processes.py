"""A cluster as processes, of which a test can kill any at any moment: the agent and the program of each replica."""

import os
import pickle
import random
import shutil
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from secrets import token_hex
from typing import Any, List, Mapping, Optional, Sequence, Type

from cluster_agents import Agent, Cluster, free_port
from saving_program import Torn, decode, encode, write
from vm_agent.http.cached_token import CachedToken
from vm_agent.http.retry import RetryPolicy
from vm_agent.storage.cluster.rounds import Rounds
from vm_agent.storage.output.local_files import MASTER
from vm_agent.storage.transfer.client import Storage

INTERVAL_SECONDS = 0.4
KEPT_COUNT = 2
LOG_SECONDS = 0.02
FINISH_SECONDS_MAX = 2.0
# Its server forks processes that have the modules already; until Python 3.13, it does not get the path from here.
os.environ['PYTHONPATH'] = os.pathsep.join(sys.path)
CONTEXT = get_context('forkserver')
CONTEXT.set_forkserver_preload(['cluster_processes'])


@dataclass(frozen=True)
class Style:
    """How the replicas of a cluster save."""

    name: str
    """`in_place`, `new_folder`, `index` (in new folders, too) or `log` (in place, too)."""
    replica_count: int
    cadence_seconds: float
    skew_seconds: float
    """How long after the first replica the last one begins, at most; and how long after it it ends."""
    size_bytes: int
    seed: int


class StorageInfo:
    """An entry in the index that torch.distributed.checkpoint writes."""

    def __init__(self, relative_path: str, length: int) -> None:
        self.relative_path, self.offset, self.length = relative_path, 0, length


class Metadata:
    def __init__(self, infos: Sequence[StorageInfo]) -> None:
        self.storage_data = dict(enumerate(infos))


def _shard_name(style: Style, step: int, rank: int) -> str:
    if style.name == 'index':
        return f'step-{step:04d}/__{rank}_0.distcp'
    return f'step-{step:04d}/shard-{rank}' if style.name == 'new_folder' else f'checkpoint/shard-{rank}'


def run_program(style: Style, rank: int, output: Path, barrier: Any) -> None:
    """
    Saves its shard of every step, until it is killed. No replica has saved a step before all others are saving it: at
    no moment do complete shards of two steps lie on the disks.
    """
    draw = random.Random(f'{style.seed} {rank}')
    if style.name == 'log':
        threading.Thread(target=_append, args=(output / f'log-{rank}.jsonl',), daemon=True).start()
    for step in range(1, 1_000_000):
        barrier.wait()
        time.sleep(draw.uniform(0.0, style.skew_seconds))
        path = output / _shard_name(style, step, rank)
        path.parent.mkdir(exist_ok=True)
        body = encode(step, style.size_bytes)
        with open(path, 'wb', buffering=0) as file:
            file.write(body[: len(body) // 2])
            barrier.wait()
            time.sleep(draw.uniform(0.0, style.skew_seconds))
            file.write(body[len(body) // 2 :])
        barrier.wait()
        if style.name == 'index' and rank == 0:
            infos = [StorageInfo(f'__{other}_0.distcp', len(body)) for other in range(style.replica_count)]
            write(path.parent / '.metadata.tmp', pickle.dumps(Metadata(infos)))
            os.replace(path.parent / '.metadata.tmp', path.parent / '.metadata')
        if style.name in ('index', 'new_folder'):
            shutil.rmtree(output / f'step-{step - KEPT_COUNT:04d}', ignore_errors=True)
        time.sleep(style.cadence_seconds)


def _append(path: Path) -> None:
    with open(path, 'a', buffering=1) as log:
        while True:
            log.write(f'{{"at": {time.time()}}}\n')
            time.sleep(LOG_SECONDS)


def step_of(style: Style, files: Mapping[str, bytes]) -> int:
    """Returns the step from which programs that find these files continue; 0 if there is none. Raises Torn."""
    if style.name in ('in_place', 'log'):
        return _step_of_shards(style, files, 0)
    marker = '/.metadata' if style.name == 'index' else '/shard-'
    folders = {name.split('/')[0] for name in files if name.rpartition('/')[2].startswith(marker[1:])}
    newest = max((int(folder[len('step-') :]) for folder in folders), default=0)
    found = _step_of_shards(style, files, newest) if newest else 0
    if found != newest:
        raise Torn(f'the shards of step-{newest} are of step {found}')
    return newest


def _step_of_shards(style: Style, files: Mapping[str, bytes], step: int) -> int:
    names = [_shard_name(style, step, rank) for rank in range(style.replica_count)]
    steps = [decode(files[name]) if name in files else 0 for name in names]
    if len(set(steps)) > 1:
        raise Torn(f'the shards are of the steps {steps}')
    return steps[0]


@dataclass
class Site(Cluster):
    """The cluster as the agent of one replica knows it."""

    storage_url: str
    home: Path
    port: int
    replicas: Sequence[str]
    rounds_type: Type[Rounds]
    attempt: int = 1
    secret: str = field(default_factory=lambda: token_hex(32))

    @property
    def cloud(self) -> Any:
        return self

    @property
    def secrets(self) -> Mapping[str, str]:
        return dict.fromkeys(self.replicas, self.secret)

    def connect(self) -> Storage:
        return Storage(self.storage_url, CachedToken(lambda: ('token', time.time() + 3_600)))


def run_agent(site: Site, replica: str, commands: Any) -> None:
    """Carries out commands, and confirms each, until the test ends."""
    agent = Agent(site, replica)
    while True:
        try:
            command, argument = commands.recv()
        except EOFError:
            sys.exit()
        if command == 'restore':
            agent.restore()
        elif command == 'start':
            agent.start(argument)
        else:
            # The agent stops its program and saves what is there, as it does when another VM of the cluster is lost.
            agent.files.record_signal()
            os.kill(argument, signal.SIGKILL)
            agent.sync.finish(RetryPolicy(5, FINISH_SECONDS_MAX), was_killed=True)
        commands.send(None)


class Processes:
    """The processes of one attempt."""

    def __init__(self, style: Style, storage_url: str, home: Path, rounds_type: Type[Rounds]) -> None:
        self._style = style
        self._replicas = [MASTER, *(f'worker-{index}' for index in range(style.replica_count - 1))]
        self._site = Site(storage_url, home, free_port(), self._replicas, rounds_type)
        # It exists for as long as processes start that use it.
        self._barrier = CONTEXT.Barrier(style.replica_count)
        self._agents: List[Any] = []
        self._pipes: List[Any] = []
        self._programs: List[Any] = []

    def start(self) -> None:
        for replica in self._replicas:
            pipe, other = CONTEXT.Pipe()
            self._pipes.append(pipe)
            self._agents.append(self._spawn(run_agent, self._site, replica, other))
            other.close()
            self._command(len(self._agents) - 1, 'restore')
        for rank in range(len(self._replicas)):
            self._command(rank, 'start', INTERVAL_SECONDS)
        for rank, replica in enumerate(self._replicas):
            output = self._site.home / f'attempt-{self._site.attempt}' / replica / 'output'
            self._programs.append(self._spawn(run_program, self._style, rank, output, self._barrier))

    def lose(self, lost: Optional[int]) -> None:
        """The VM of a rank is gone, or those of all; then the agents of the others end their programs, and save."""
        ranks = range(len(self._replicas))
        for rank in ranks if lost is None else (lost,):
            self._programs[rank].kill()
            self._agents[rank].kill()
        rest = [rank for rank in ranks if lost not in (None, rank)]
        with ThreadPoolExecutor(len(ranks)) as pool:
            list(pool.map(lambda rank: self._command(rank, 'finish', self._programs[rank].pid), rest))

    def close(self) -> None:
        for process in (*self._agents, *self._programs):
            process.kill()
            process.join()

    def _spawn(self, target: Any, *arguments: Any) -> Any:
        process = CONTEXT.Process(target=target, args=arguments, daemon=True)
        process.start()
        return process

    def _command(self, rank: int, name: str, argument: Any = None) -> None:
        """Returns when the agent has done it."""
        self._pipes[rank].send((name, argument))
        self._pipes[rank].recv()
