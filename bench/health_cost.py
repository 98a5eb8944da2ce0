"""Measures what the detectors of training health cost, and prints it as JSON: seconds of CPU for a second of a job."""

import json
import sys
import time
from pathlib import Path
from typing import Callable

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'infra' / 'vm-agent'))

from vm_agent.health.monitor import HealthMonitor  # noqa: E402
from vm_agent.health.policy import Policy  # noqa: E402
from vm_agent.metrics.sources.log_lines import LogLines  # noqa: E402

RATE = 1_000
# The agent reads a pipe at most this often; what was printed meanwhile is one block.
BLOCKS_PER_SECOND = 200
ROUNDS = 20
CODES = ('NON_FINITE', 'DIVERGING', 'PLATEAU', 'STALLED', 'INPUT_BOUND')


def measure(run: Callable[[], None]) -> float:
    started_at = time.process_time()
    for _ in range(ROUNDS):
        run()
    return (time.process_time() - started_at) / ROUNDS


def main() -> None:
    monitor = HealthMonitor(Policy(dict.fromkeys(CODES, 'warn'), None))
    monitor.start()
    log = LogLines(takes_all=False)
    lines = [f'step {step} - loss: {1 / (step + 1):.4f} - accuracy: 0.5 - inference 12 ms\n'.encode() for step in range(RATE)]
    size = RATE // BLOCKS_PER_SECOND
    blocks = [b''.join(lines[start : start + size]) for start in range(0, RATE, size)]

    def print_lines() -> None:
        for block in blocks:
            monitor.add_output('stdout')
            log.add(block)
        log.read(False)

    def report_metrics() -> None:
        for step in range(RATE):
            monitor.add_sample('loss', 1 / (step + 1), step)

    print(json.dumps({'lines': measure(print_lines), 'metrics': measure(report_metrics)}))


main()
