import json
import random
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import List

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from machine_delays import MachineDelays
from saving_agent import Commit, SavingAgent
from saving_program import STEP_OF, Torn
from vm_agent.storage.output.quiet_wait import FIRST_SHARE, QUIET_SHARE, WAIT_SHARE

PROGRAM = Path(__file__).resolve().parent / 'saving_program.py'
INTERVAL_SECONDS = 0.8
# After the first save.
RUN_SECONDS = 3.2
SAVES_MIN = 3
# For the work of a round itself, in addition to the promised two intervals, the measured upload and the measured delays
# of the machine.
WORK_SECONDS = 1.0
# An agent that is later than this may miss a pause between two saves.
LATENESS_SECONDS_MAX = 0.1
SIZES_BYTES = (100, 50_000, 3_000_000)
PARALLEL_COUNT = 8
# Styles without an index and without a rename: pauses alone tell one save from the next.
PAUSED_STYLES = ('pair', 'folder_of_files')


@dataclass(frozen=True)
class Scenario:
    style: str
    cadence_seconds: float
    size_bytes: int
    write_seconds: float
    has_status: bool

    def arguments(self, folder: Path) -> List[str]:
        numbers = ['--cadence', str(self.cadence_seconds), '--size', str(self.size_bytes)]
        status = ['--status'] if self.has_status else []
        writing = ['--write-seconds', str(self.write_seconds), *status]
        return [sys.executable, str(PROGRAM), str(folder), self.style, *numbers, *writing]


@dataclass(frozen=True)
class SavedStep:
    began_at: float
    at: float
    pause_seconds: float
    """The longest pause between two files of the save."""


class Run:
    """One run of the program, with an agent that saves its output, until both are killed without notice."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.commits: List[Commit] = []
        self.steps: List[SavedStep] = []
        self.ended_at = 0.0
        self._delays = MachineDelays()

    def execute(self) -> List[str]:
        """Returns how the promise was broken."""
        with tempfile.TemporaryDirectory() as home:
            agent = SavingAgent(Path(home), INTERVAL_SECONDS)
            try:
                self._run_program(agent.output)
                # The agent is killed with the program: what it saves afterwards does not count.
                self.commits = agent.commits_before(self.ended_at)
            finally:
                agent.close()
                self._delays.stop()
        return self._find_problems()

    def _run_program(self, output: Path) -> None:
        program = subprocess.Popen(self.scenario.arguments(output), stdout=subprocess.PIPE, text=True)
        self._delays.watch(program.pid)
        assert program.stdout is not None
        kill = threading.Timer(RUN_SECONDS, program.kill)
        for line in program.stdout:
            if not line.endswith('\n'):
                # The program was killed while it printed.
                break
            self.steps.append(SavedStep(*map(float, line.split()[1:])))
            if len(self.steps) == SAVES_MIN:
                kill.interval = max(0.0, self.steps[0].at + RUN_SECONDS - time.time())
                kill.start()
        self.ended_at = time.time()
        program.stdout.close()
        program.wait()

    def _find_problems(self) -> List[str]:
        problems = []
        steps = []
        for commit in self.commits:
            try:
                steps.append(STEP_OF[self.scenario.style](commit.files))
            except Torn as torn:
                steps.append(0)
                if not self._is_excused(commit):
                    problems.append(f'torn: {torn}')
        for number, saved in enumerate(self.steps, start=1):
            committed_at = next((commit.at for commit, step in zip(self.commits, steps) if step >= number), None)
            until = committed_at or self.ended_at
            allowed_seconds = self._allowed_seconds(saved.at, until)
            if until - saved.at > allowed_seconds:
                took = f'{until - saved.at:.2f} s instead of {allowed_seconds:.2f} s'
                problems.append(f'step {number} was not committed within its time: {took}')
        return problems

    def _allowed_seconds(self, since: float, until: float) -> float:
        upload_seconds = max((commit.upload_seconds for commit in self.commits), default=0.0)
        delay_seconds = self._delays.seconds_between(since, until)
        return 2 * INTERVAL_SECONDS + upload_seconds + WORK_SECONDS + delay_seconds

    def _is_excused(self, commit: Commit) -> bool:
        """
        Whether a set may be mixed by design: the machine made the pauses within a save as long as those between two, or
        it kept the agent from seeing them (docs/adr/0025).
        """
        if self.scenario.style not in PAUSED_STYLES:
            return False
        round_seconds = INTERVAL_SECONDS + commit.upload_seconds
        round_ = (commit.at - round_seconds, commit.at)
        is_late = (
            self._delays.lateness_between(*round_) > LATENESS_SECONDS_MAX
            or self._delays.seconds_between(*round_) > WAIT_SHARE * INTERVAL_SECONDS
        )
        near = [step for step in self.steps if abs(step.at - commit.at) <= 2 * round_seconds]
        is_long = self.scenario.style == 'pair' and any(
            step.at - step.began_at >= (FIRST_SHARE - QUIET_SHARE) * INTERVAL_SECONDS for step in near
        )
        return is_late or is_long or any(step.pause_seconds >= QUIET_SHARE * INTERVAL_SECONDS for step in near)


def execute(scenario: Scenario) -> List[str]:
    return Run(scenario).execute()


def draw_scenarios(seed: int) -> List[Scenario]:
    """Returns two scenarios for each style, one that saves faster than the agent looks, and more for pairs."""
    draw = random.Random(seed)
    scenarios = []
    for style in STEP_OF:
        for cadence_seconds in (draw.choice((0.05, 0.1, 0.2)), draw.uniform(0.3, 1.2)):
            write_seconds = draw.choice((0.0, 0.1, 0.5)) * cadence_seconds
            size_bytes = draw.choice(SIZES_BYTES if cadence_seconds >= 0.3 else SIZES_BYTES[:2])
            has_status = draw.random() < 0.3
            if style == 'pair':
                # The pauses between two saves exceed those within one by more than a busy machine adds.
                for longer_seconds in (0.0, 0.2):
                    cadence = 1.0 + longer_seconds + cadence_seconds / 8
                    scenarios.append(Scenario(style, cadence, size_bytes, 0.06, has_status))
            else:
                scenarios.append(Scenario(style, cadence_seconds, size_bytes, write_seconds, has_status))
    return scenarios


class CheckpointTest(unittest.TestCase):
    def test_an_interruption_loses_two_intervals_at_most_and_restores_nothing_torn(self) -> None:
        scenarios = draw_scenarios(seed=7)
        # Processes of their own: agents that share an interpreter delay each other.
        with ProcessPoolExecutor(PARALLEL_COUNT, get_context('spawn')) as pool:
            results = zip(scenarios, pool.map(execute, scenarios))
            problems = {str(scenario): found for scenario, found in results if found}
        self.assertEqual(problems, {}, json.dumps(problems, indent=1))


if __name__ == '__main__':
    unittest.main()
