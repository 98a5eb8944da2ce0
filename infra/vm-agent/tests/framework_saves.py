"""
Kills programs that save their state with real frameworks, without notice, and starts them again with what the agent had
saved. Prints one line of JSON per program: the last step that had to be saved, the step at which the program resumed,
and the end of its errors.

    python3 framework_saves.py PYTHON PROGRAM…
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from machine_delays import MachineDelays
from saving_agent import Commit, SavingAgent

PROGRAM = Path(__file__).resolve().parent / 'framework_program.py'
INTERVAL_SECONDS = 0.8
# For the work of a round itself, in addition to two intervals, the upload and the delays of the machine.
WORK_SECONDS = 1.0
# The program is killed when its first save has to be in the bucket, with some saves in between; at the latest after:
TRAINING_SECONDS_MAX = 20.0
TRAINING_EXTRA_SECONDS = 0.5
POLL_SECONDS = 0.1
# Frameworks start with several busy threads.
PARALLEL_COUNT = 2
ERROR_LINES_MAX = 20


class Run:
    """One run of a program, until it is killed: some time after its first save, or when it has resumed."""

    def __init__(self, python: str, program: str, folder: Path) -> None:
        self.saved: List[Tuple[float, int]] = []
        self.resumed_at_step = -1
        self._process = subprocess.Popen(
            [python, str(PROGRAM), program, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._errors: List[str] = []
        self._reader = threading.Thread(target=lambda: self._errors.extend(self._process.stderr or ()))
        self._reader.start()

    def run(self, has_trained: Callable[[float], bool]) -> None:
        """Kills the program when `has_trained` is true of the time of its first save."""
        for line in self._lines():
            kind, _, step = line.partition(' ')
            if kind == 'RESUMED':
                self.resumed_at_step = int(step)
            elif kind == 'SAVED':
                self.saved.append((time.time(), int(step)))
                if len(self.saved) == 1:
                    threading.Thread(target=self._kill_later, args=(has_trained,), daemon=True).start()
        self._process.wait()
        self._reader.join()

    def resume(self) -> None:
        """Kills the program when it has read its state."""
        for line in self._lines():
            if line.startswith('RESUMED'):
                self.resumed_at_step = int(line.split()[1])
                break
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def _lines(self) -> Iterator[str]:
        """The complete lines: a program that is killed while it writes leaves the last one torn."""
        return (line for line in self._process.stdout or () if line.endswith('\n'))

    def _kill_later(self, has_trained: Callable[[float], bool]) -> None:
        while self._process.poll() is None and not has_trained(self.saved[0][0]):
            time.sleep(POLL_SECONDS)
        self._process.kill()

    @property
    def errors(self) -> str:
        return ''.join(self._errors[-ERROR_LINES_MAX:])


class Bound:
    """The time after which a save has to be in the bucket: what is promised, and what the machine delayed the agent."""

    def __init__(self, delays: MachineDelays, commits_before: Callable[[float], List[Commit]]) -> None:
        self._delays = delays
        self._commits_before = commits_before

    def has_passed(self, saved_at: float, now: float) -> bool:
        upload_seconds = max((commit.upload_seconds for commit in self._commits_before(now)), default=0.0)
        promised_seconds = 2 * INTERVAL_SECONDS + upload_seconds + WORK_SECONDS
        seconds = promised_seconds + self._delays.seconds_between(saved_at, now)
        return now - saved_at > min(seconds, TRAINING_SECONDS_MAX)


def interrupt(python: str, program: str) -> Dict[str, Any]:
    with tempfile.TemporaryDirectory() as home:
        delays = MachineDelays()
        agent = SavingAgent(Path(home), INTERVAL_SECONDS)
        bound = Bound(delays, agent.commits_before)
        try:
            first = Run(python, program, agent.output)
            first.run(lambda first_at: bound.has_passed(first_at + TRAINING_EXTRA_SECONDS, time.time()))
            killed_at = time.time()
            delays.stop()
            commits = agent.commits_before(killed_at)
            due = [step for at, step in first.saved if bound.has_passed(at, killed_at)]
            agent.restore(commits[-1], Path(home, 'restored'))
            second = Run(python, program, Path(home, 'restored'))
            second.resume()
        finally:
            agent.close()
    return {
        'program': program,
        'commits': len(commits),
        'saved': max((step for _, step in first.saved), default=0),
        'due': max(due, default=0),
        'resumed': second.resumed_at_step,
        'errors': second.errors or first.errors,
    }


def main(python: str, programs: List[str]) -> None:
    # Processes of their own: agents that share an interpreter delay each other.
    with ProcessPoolExecutor(PARALLEL_COUNT, get_context('spawn')) as pool:
        for result in pool.map(interrupt, [python] * len(programs), programs):
            print(json.dumps(result), flush=True)


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])
