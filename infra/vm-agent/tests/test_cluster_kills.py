"""The files that a cluster's replicas have saved belong together, whatever is killed at any moment."""

import json
import os
import random
import sys
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, List, Sequence, Type

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from cluster_agents import Cluster
from cluster_processes import Processes, Style, step_of
from fake_storage import FakeStorage, StoredObject
from saving_agent import Commit, Objects
from saving_program import Torn
from vm_agent.storage.cluster.rounds import Rounds

STYLES = ('in_place', 'new_folder', 'index', 'log')
# To search longer, or to repeat one that failed: SEED=7 SEEDS=1.
FIRST_SEED, SEEDS = int(os.environ.get('SEED', '1')), int(os.environ.get('SEEDS', '50'))
# The search ends at the first set that is mixed.
ABLATED_MAX = 64
PARALLEL_COUNT = 12
# From the first set.
RUN_SECONDS_MAX = 2.0
# Some programs save so often that a busy machine sees no pause.
FIRST_SET_SECONDS_MAX = 8.0


class OnePhase(Rounds):
    """Commits the snapshots of all replicas without asking whether they are of one moment."""

    def _confirm(self, taken: Any, timing: Any, ending: Any) -> bool:
        return True


class SetObjects(Objects):
    """The live objects; knows when the first shards are committed."""

    def __init__(self, cloud: FakeStorage) -> None:
        super().__init__(cloud)
        self.has_set = threading.Event()

    def __setitem__(self, name: str, stored: StoredObject) -> None:
        super().__setitem__(name, stored)
        if self.commits and any('/' in file for file in self.commits[-1].files):
            self.has_set.set()


class Kill:
    """One cluster, until a replica or all of it is killed, and what the next attempt restores."""

    def __init__(self, seed: int, rounds_type: Type[Rounds] = Rounds) -> None:
        draw = random.Random(seed)
        self.style = Style(
            name=draw.choice(STYLES),
            replica_count=draw.choice((2, 3)),
            cadence_seconds=draw.uniform(0.2, 0.7),
            skew_seconds=draw.choice((0.02, 0.3)),
            size_bytes=draw.choice((100, 50_000)),
            seed=seed,
        )
        self.lost = draw.choice((None, None, 0, 1))
        self.steps: List[int] = []
        """Those of the committed sets."""
        # Before the first set, nothing shows that a lost replica saves in the same directories.
        self._has_saved = self.lost is not None or draw.random() < 0.7
        self._run_seconds = draw.uniform(0.0, RUN_SECONDS_MAX)
        self._rounds_type = rounds_type

    def execute(self) -> List[str]:
        """Returns how the promise was broken."""
        cloud = FakeStorage()
        objects = cloud.objects = SetObjects(cloud)
        with tempfile.TemporaryDirectory() as home:
            processes = Processes(self.style, cloud.url, Path(home), self._rounds_type)
            try:
                processes.start()
                has_set = self._has_saved and objects.has_set.wait(FIRST_SET_SECONDS_MAX)
                threading.Event().wait(self._run_seconds)
                processes.lose(self.lost if has_set else None)
            finally:
                processes.close()
            restored = self._restore(cloud, Path(home))
        cloud.close()
        # Each of them is what a kill at that moment would have restored.
        problems = [problem for commit in objects.commits for problem in self._find_problems(commit)]
        last = objects.commits[-1].files
        problems += [f'{found.keys()} restored instead of {last.keys()}' for found in restored if found != last]
        return problems

    def _restore(self, cloud: FakeStorage, home: Path) -> List[Dict[str, bytes]]:
        """Returns what each replica of the next attempt finds."""
        restored: List[Dict[str, bytes]] = []
        for agent in Cluster(cloud, home, count=2, attempt=2).agents.values():
            agent.close()
            paths = [path for path in agent.output.rglob('*') if path.is_file()]
            restored.append({str(path.relative_to(agent.output)): path.read_bytes() for path in paths})
        return restored

    def _find_problems(self, commit: Commit) -> List[str]:
        try:
            self.steps.append(step_of(self.style, commit.files))
            return []
        except Torn as torn:
            return [f'{torn}, after the steps {self.steps}']


def execute(kills: Sequence[Kill]) -> Dict[str, List[str]]:
    """Returns how promises were broken, by the kill that left it so."""
    with ThreadPoolExecutor(PARALLEL_COUNT) as pool:
        results = zip(kills, pool.map(Kill.execute, kills))
        return {f'SEED={kill.style.seed} {kill.style}, lost {kill.lost}': found for kill, found in results if found}


class ClusterKillTest(unittest.TestCase):
    def test_every_set_that_a_kill_leaves_has_the_shards_of_one_step(self) -> None:
        kills = [Kill(seed) for seed in range(FIRST_SEED, FIRST_SEED + SEEDS)]
        problems = execute(kills)
        self.assertEqual(problems, {}, json.dumps(problems, indent=1))
        # Without sets, nothing can be mixed.
        self.assertGreater(sum(len({*kill.steps}) for kill in kills), SEEDS)

    def test_would_mix_the_shards_of_several_steps_without_the_second_phase(self) -> None:
        for first in range(1, ABLATED_MAX, PARALLEL_COUNT):
            kills = [Kill(seed, OnePhase) for seed in range(first, first + PARALLEL_COUNT)]
            found = [problem for problems in execute(kills).values() for problem in problems]
            if any('are of the steps' in problem for problem in found):
                return
        self.fail('no set is mixed, so the test cannot see it')


if __name__ == '__main__':
    unittest.main()
