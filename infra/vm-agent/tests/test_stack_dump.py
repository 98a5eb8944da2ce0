"""The stacks of a program that stalls."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from vm_agent.health.stack_dump import dump_stacks, handles_dump, shorten_frame, summarize

AGENT = Path(__file__).resolve().parents[1]
PROGRAM = """
import sys, threading
sys.path.insert(0, sys.argv[1])
from vm_agent.paths.stacks import register
register(sys.argv[2])
{}
print('ready', flush=True)
threading.Event().wait()
"""
TAKES_THE_SIGNAL = 'import signal; signal.signal(signal.SIGUSR2, lambda *_: print("taken", flush=True))'


class StackDumpTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dump_file = Path(folder.name) / 'stack_dumps'

    def start(self, statement: str = '') -> 'subprocess.Popen[bytes]':
        argv = [sys.executable, '-c', PROGRAM.format(statement), str(AGENT), str(self.dump_file)]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        assert process.stdout is not None
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), b'ready\n')
        return process

    def test_a_process_dumps_its_stacks_as_often_as_it_is_asked_and_goes_on(self) -> None:
        process = self.start()
        for _ in range(2):
            lines = dump_stacks([process.pid], self.dump_file, Path('/none/python'))
            self.assertIn('in <module>', '\n'.join(summarize(lines)))
        self.assertIsNone(process.poll())

    def test_no_process_is_signaled_that_has_taken_the_signal_or_never_had_the_handler(self) -> None:
        self.start()
        taken = self.start(TAKES_THE_SIGNAL)
        other = subprocess.Popen(['sleep', '60'])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        for process in (taken, other):
            self.assertFalse(handles_dump(process.pid, self.dump_file))
            self.assertEqual(dump_stacks([process.pid], self.dump_file, Path('/none/python')), ())
            self.assertIsNone(process.poll())

    def test_a_process_that_has_ended_has_no_stack(self) -> None:
        process = self.start()
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertEqual(dump_stacks([process.pid], self.dump_file, Path('/none/python')), ())

    def test_py_spy_takes_precedence(self) -> None:
        tool = self.dump_file.parent / 'py-spy'
        tool.write_text('#!/bin/sh\necho \'Thread 7 (idle): "MainThread"\'\necho "    wait (threading.py:331)"\n')
        os.chmod(tool, 0o755)
        lines = dump_stacks([os.getpid()], self.dump_file, tool.parent / 'python')
        self.assertEqual(summarize(lines), ('Thread 7 (idle): "MainThread"', 'wait (threading.py:331)'))

    def test_a_sentence_names_a_frame_by_the_end_of_its_path(self) -> None:
        frame = 'File "/var/dropforge/sources/0/trainer/task.py", line 5 in wait_for_it'
        self.assertEqual(shorten_frame(frame), 'trainer/task.py, line 5, in wait_for_it')
        self.assertEqual(shorten_frame('wait (threading.py:331)'), 'wait (threading.py:331)')

    def test_the_main_thread_is_shown_which_py_spy_names_and_faulthandler_prints_last(self) -> None:
        named = ['Thread 1 (idle): "MainThread"', '    wait (a.py:1)', 'Thread 2 (active): "loader"', '    read (b.py:2)']
        self.assertEqual(summarize(named)[1], 'wait (a.py:1)')
        last = ['Thread 0x2 (most recent call first):', '  File "b.py", line 2 in read', 'Current thread 0x1 (most):']
        self.assertEqual(summarize([*last, '  File "a.py", line 1 in wait'])[1], 'File "a.py", line 1 in wait')


if __name__ == '__main__':
    unittest.main()
