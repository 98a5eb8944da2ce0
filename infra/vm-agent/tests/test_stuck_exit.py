"""Programs whose main thread an exception has ended, and whose processes do not exit."""

import os
import subprocess
import sys
import tempfile
import time
import unittest
from functools import partial
from pathlib import Path
from typing import List, Optional

AGENT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(AGENT), str(AGENT / 'tests')]

from health_policy import policy_with  # noqa: E402
from test_control import LIMITS  # noqa: E402
from vm_agent.control import health_watch  # noqa: E402
from vm_agent.control.decisions import describe_end  # noqa: E402
from vm_agent.control.health_watch import HealthWatch, Outlets  # noqa: E402
from vm_agent.control.stop_signal import StopSignal  # noqa: E402
from vm_agent.control.supervisor import Monitored, Supervisor  # noqa: E402
from vm_agent.health.monitor import HealthMonitor  # noqa: E402
from vm_agent.health.stuck_exit import StuckExits, StuckProcess  # noqa: E402
from vm_agent.program.child_process import ChildProcess, Command  # noqa: E402

START = """
import sys
sys.path.insert(0, sys.argv[1])
from vm_agent.paths import hook, main_end
after_import = hook.install('gs://jobs/mine', '/nonexistent', '/nonexistent')
main_end.register(sys.argv[2], after_import)
import atexit, code, concurrent.futures, os, threading, time
def wait(): print('waits', flush=True) or threading.Event().wait()
"""
WORKS = """
null, until = os.open(os.devnull, os.O_WRONLY), time.monotonic() + 2.2
def work():
    print('waits', flush=True)
    while time.monotonic() < until: {work}
    threading.Event().wait()
threading.Thread(target=work).start()
"""
FAILS = "raise KeyError('step')"
SECONDS = (0.6, 0.2)
# For a machine that stands still for a second.
SLOW_SECONDS = (1.4, 0.4)


@unittest.skipUnless(Path('/proc/self/fd').exists(), 'needs /proc')
class StuckExitTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.prefix = Path(folder.name, 'stack_dumps')

    def start(self, program: str, prefix: Optional[Path] = None) -> 'subprocess.Popen[bytes]':
        argv = [sys.executable, '-c', START + program, str(AGENT), str(prefix or self.prefix)]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        assert process.stdout is not None
        self.assertEqual(process.stdout.readline(), b'waits\n')
        return process

    def find(self, stuck: StuckExits, seconds: float, prefix: Optional[Path] = None) -> List[StuckProcess]:
        """Returns the first that are found, and ends them."""
        give_up_at = time.monotonic() + seconds
        found: List[StuckProcess] = []
        while not found and time.monotonic() < give_up_at:
            found = stuck.find(prefix or self.prefix)
            time.sleep(0.02)
        for process in found:
            stuck.end(process)
        return found

    def test_a_process_that_waits_after_an_exception_is_found_and_ended(self) -> None:
        waits = (
            f'atexit.register(wait); {FAILS}',
            f'threading.Thread(target=wait).start(); {FAILS}',
            f'concurrent.futures.ThreadPoolExecutor().submit(wait); {FAILS}',
            f'sys.excepthook = lambda *_: None; atexit.register(wait); {FAILS}',
        )
        processes = [self.start(program) for program in waits]
        stuck = StuckExits(SECONDS)
        self.assertEqual(stuck.explanation, '')
        found: List[StuckProcess] = []
        while len(found) < len(processes):
            newly = self.find(stuck, 10)
            self.assertNotEqual(newly, [])
            found += newly
        expected = sorted(((process.pid,), 'KeyError') for process in processes)
        self.assertEqual(sorted((one.pids, one.exception) for one in found), expected)
        self.assertEqual([process.wait(10) for process in processes], [-9] * len(processes))
        self.assertEqual((stuck.explanation, stuck.find(self.prefix)), ('KeyError', []))

    def test_it_goes_on_while_a_thread_computes_or_writes_or_the_program_reports(self) -> None:
        works = ('sum(range(10_000))', 'time.sleep(0.02); os.write(null, bytes(100_000))', 'time.sleep(0.02)')
        folders = [self.prefix.parent / str(number) for number in range(len(works))]
        for folder, work in zip(folders, works):
            folder.mkdir()
            self.start(WORKS.format(work=work) + FAILS, folder / 'stack_dumps')
        everything = [(StuckExits(SLOW_SECONDS), folder / 'stack_dumps') for folder in folders]
        works_until = time.monotonic() + 1.8
        while time.monotonic() < works_until:
            # The last one has a metric in a file.
            everything[-1][0].add_report()
            self.assertEqual([stuck.find(prefix) for stuck, prefix in everything], [[], [], []])
            time.sleep(0.02)
        for stuck, prefix in everything:
            self.assertEqual(len(self.find(stuck, 10, prefix)), 1)

    def test_one_that_has_not_failed_may_wait(self) -> None:
        others = [
            'threading.Thread(target=wait).start()',
            'threading.Thread(target=wait).start(); sys.exit(3)',
            "code.InteractiveInterpreter().runsource('1 / 0'); threading.Thread(target=wait).start()",
        ]
        for program in others:
            self.start(program)
        self.assertEqual(self.find(StuckExits(SECONDS), 1.2), [])

    def test_a_program_that_ends_prints_the_same_with_the_same_exit_code(self) -> None:
        for program in ('def f(): 1 / 0\nf()', 'print("interrupted"); os.kill(os.getpid(), 2)'):
            without = START.replace('main_end.register(sys.argv[2], after_import)', '')
            runs = [
                subprocess.run([sys.executable, '-c', code, AGENT, self.prefix], capture_output=True, check=False)
                for code in (START + program, without + program)
            ]
            self.assertEqual(*((run.returncode, run.stdout, run.stderr) for run in runs))


@unittest.skipUnless(Path('/proc/self/fd').exists(), 'needs /proc')
class StuckProgramTest(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(setattr, health_watch, 'POLL_SECONDS', health_watch.POLL_SECONDS)
        health_watch.POLL_SECONDS = 0.1

    def test_the_exception_is_the_cause_also_behind_a_shell_which_says_that_it_was_killed(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / 'task.py').write_text(f'{START}\natexit.register(wait)\n{FAILS}')
            stop_signal, lines = StopSignal(), ['']
            outlets = Outlets(stop_signal, lambda line, _severity: lines.append(line))
            watch = HealthWatch(HealthMonitor(policy_with({}, 600.0)), outlets, (lambda: 0, 1))
            watch.stuck = StuckExits(SECONDS)
            monitored = Monitored(
                limits=LIMITS,
                stop_signal=stop_signal,
                last_answer_at=time.monotonic,
                disk_bytes=lambda: 0,
                on_output=lambda stream, _block: watch.add_output(stream),
                on_started=lambda pid: watch.start(pid, folder, lambda: folder / 'stack_dumps'),
                find_exception=lambda: watch.stuck.explanation,
            )
            vm = f'{os.getpid()}@{self.id()}'
            script = f'{sys.executable} task.py {AGENT} {folder}/stack_dumps; exit $?'
            command = Command(['bash', '-c', script], {'DROPFORGE_VM': vm}, folder, f'DROPFORGE_VM={vm}'.encode())
            try:
                report = describe_end(Supervisor(monitored).run_program(partial(ChildProcess, command), 0.0))
            finally:
                watch.stop()
        self.assertEqual((report.reason, report.exit_code, report.signal), ('EXITED', 1, None))
        self.assertIn("The main thread of the program ended with KeyError. The process did", report.message)
        self.assertEqual(report.evidence[-1], "KeyError: 'step'")
        self.assertNotIn('Killed', '\n'.join(report.evidence))


if __name__ == '__main__':
    unittest.main()
