"""How long a busy machine has delayed the threads of this process and of a program."""

import os
import threading
import time
from bisect import bisect_left, bisect_right
from glob import glob
from pathlib import Path
from typing import Dict, List, Sequence, Set, Tuple

SAMPLE_SECONDS = 0.05


class MachineDelays:
    """
    Samples the times that threads have waited for a processor. Without `/proc/PID/schedstat`, which only Linux has, the
    lateness of the samples themselves.
    """

    def __init__(self) -> None:
        self._pids: Set[int] = {os.getpid()}
        self._waited: Dict[Tuple[int, str], float] = {}
        self._times: List[float] = []
        self._totals: List[float] = []
        self._lateness: List[float] = []
        self._stopped = threading.Event()
        self._read_increase()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def watch(self, pid: int) -> None:
        """Includes the threads of another process from now on."""
        self._pids = {*self._pids, pid}

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def seconds_between(self, start: float, end: float) -> float:
        """
        Returns the sum of the delays of all threads between two points in time, by time.time(); as far as it is known.
        """
        return self._increase(self._totals, start, end)

    def lateness_between(self, start: float, end: float) -> float:
        """Returns the same for one thread that sleeps most of the time."""
        return self._increase(self._lateness, start, end)

    def _increase(self, sums: Sequence[float], start: float, end: float) -> float:
        if not self._times:
            return 0.0
        before = max(0, bisect_right(self._times, start) - 1)
        after = min(len(self._times) - 1, bisect_left(self._times, end))
        return sums[after] - sums[before]

    def _run(self) -> None:
        sampled_at = time.monotonic()
        total = lateness = 0.0
        while True:
            is_last = self._stopped.wait(SAMPLE_SECONDS)
            now = time.monotonic()
            late_seconds = max(0.0, now - sampled_at - SAMPLE_SECONDS)
            total += max(self._read_increase(), late_seconds)
            lateness += late_seconds
            self._totals.append(total)
            self._lateness.append(lateness)
            # Last: a reader finds a sum for every time.
            self._times.append(time.time())
            sampled_at = now
            if is_last:
                return

    def _read_increase(self) -> float:
        """Returns the seconds that the threads have waited since the last call."""
        increase = 0.0
        for pid in self._pids:
            for task in map(Path, glob(f'/proc/{pid}/task/*/schedstat')):
                try:
                    waited = int(task.read_text().split()[1]) / 1e9
                except (OSError, IndexError):
                    continue
                increase += waited - self._waited.get((pid, task.parent.name), 0.0)
                self._waited[pid, task.parent.name] = waited
        return increase
