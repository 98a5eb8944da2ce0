"""Profiles of the program: which process, what py-spy does, and what is reported of it."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Dict, List, Sequence

from vm_agent.http.retry import TransientError
from vm_agent.profiling.main_process import ProcessFacts, choose_main, list_workers, read_processes
from vm_agent.profiling.profiler import NO_PY_SPY, NO_PYTHON, Outlets, Profiler, Program, ProfileMeter, read_request
from vm_agent.profiling.py_spy import FILE_BYTES_MAX, ProfileFailed, record, sampling_rate
from vm_agent.profiling.speedscope import HOLDS_LOCK, merge
from vm_agent.program.gpu_meter import GpuUsage
from vm_agent.storage.client import Author

TORCHRUN = ('python', '/usr/bin/torchrun', 'train.py')
TRAIN = ('python', '-u', 'train.py')
SPAWNED = ('python', '-c', 'from multiprocessing.spawn import spawn_main')


def facts(pid: int, parent: int, command: Sequence[str], work: float, is_python: bool = True) -> Any:
    return ProcessFacts(pid, parent, work, tuple(command), is_python)


def choose(*processes: ProcessFacts) -> Any:
    """The process that is chosen if each has done its work in the time of the comparison."""
    return choose_main([facts(one.pid, one.parent, one.command, 0, one.is_python) for one in processes], processes)


class MainProcessTest(unittest.TestCase):
    def test_is_the_python_process_below_shells(self) -> None:
        shell = facts(10, 1, ('sh', 'run.sh'), 0.1, is_python=False)
        self.assertEqual(choose(shell, facts(11, 10, TRAIN, 0.9)), 11)

    def test_is_no_worker_of_a_data_loader_even_if_all_of_them_work_more(self) -> None:
        workers = [facts(20, 10, TRAIN, 1.0), facts(21, 10, SPAWNED, 1.0)]
        self.assertEqual(choose(facts(10, 1, TRAIN, 0.01), *workers), 10)

    def test_is_the_first_rank_below_a_launcher_which_waits(self) -> None:
        ranks = [facts(31, 10, TRAIN, 0.8), facts(32, 10, TRAIN, 1.0), facts(33, 31, TRAIN, 1.0)]
        self.assertEqual(choose(facts(10, 1, TORCHRUN, 0.0), *ranks), 31)

    def test_is_not_a_small_tool_that_the_training_has_started(self) -> None:
        self.assertEqual(choose(facts(10, 1, TRAIN, 0.9), facts(11, 10, ('python', '-m', 'tensorboard'), 0.1)), 10)

    def test_is_none_without_a_python_process(self) -> None:
        self.assertIsNone(choose(facts(10, 1, ('./train',), 1.0, is_python=False)))
        self.assertIsNone(choose())

    def test_reads_a_real_process_and_its_workers(self) -> None:
        program = 'import multiprocessing as m, time; m.get_context("fork").Process(target=time.sleep, args=(60,)).start(); print("ready", flush=True); time.sleep(60)'
        process = subprocess.Popen([sys.executable, '-c', program], stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdout.readline()
        (found,) = read_processes([process.pid, 999_999_999])
        self.assertTrue(found.is_python)
        self.assertEqual(found.parent, os.getpid())
        workers = list_workers(process.pid)
        for worker in workers:
            self.addCleanup(os.kill, worker, 9)
        if os.path.exists(f'/proc/{process.pid}/task/{process.pid}/children'):
            self.assertEqual(len(workers), 1)


def recorded(name: str, frames: Sequence[str], samples: Sequence[Sequence[int]]) -> Dict[str, Any]:
    profile = {'type': 'sampled', 'name': name, 'unit': 'seconds', 'startValue': 0.0, 'endValue': 1.0}
    profile.update({'samples': samples, 'weights': [0.5] * len(samples)})
    return {'$schema': 's', 'shared': {'frames': [{'name': frame} for frame in frames]}, 'profiles': [profile]}


class MergeTest(unittest.TestCase):
    def test_the_main_thread_is_first_and_its_time_with_the_lock_last(self) -> None:
        every = recorded('Thread 7 "loader"', ['load', 'train'], [[0], [0]])
        every['profiles'] += recorded('Thread 5 ""', [], [[1]])['profiles']
        merged = merge(every, recorded('Thread 5 ""', ['train'], [[0]]), [4, 5])
        self.assertEqual([profile['name'] for profile in merged['profiles']], ['MainThread', 'Thread 7 "loader"', HOLDS_LOCK])
        self.assertEqual([frame['name'] for frame in merged['shared']['frames']], ['load', 'train', 'train'])
        self.assertEqual(merged['profiles'][-1]['samples'], [[2]])

    def test_a_thread_that_never_held_the_lock_has_no_samples_and_one_that_was_not_recorded_no_profile(self) -> None:
        every = recorded('Thread 9 "MainThread"', ['wait'], [[0]])
        merged = merge(every, {**every, 'profiles': []}, [5])
        self.assertEqual((merged['profiles'][-1]['name'], merged['profiles'][-1]['samples']), (HOLDS_LOCK, []))
        self.assertEqual(len(merge(every, None, [5])['profiles']), 1)


class FakeDirectory:
    author = Author('digits', 2)

    def __init__(self) -> None:
        self.objects: Dict[str, Any] = {}
        self.error: Any = None

    def upload_bytes(self, name: str, data: bytes, _policy: Any) -> None:
        if self.error is not None:
            raise self.error
        self.objects[name] = json.loads(data)


class ProfilerTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.directory = FakeDirectory()
        self.states: List[str] = []
        self.ended = threading.Event()
        outlets = Outlets(self.directory, self.folder / 'profile', lambda: (), lambda *_: None, self.on_news)
        self.profiler = Profiler(outlets)
        program = subprocess.Popen([sys.executable, '-c', 'import time\nwhile True: time.sleep(0.01)'])
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.pid = program.pid

    def on_news(self) -> None:
        state = self.profiler.to_json()
        self.states.append(state['state'])
        if state['state'] != 'RECORDING':
            self.ended.set()

    def write_tool(self, text: str) -> None:
        """A py-spy next to the program's Python, which gets the output's path as $FILE and its option as $WHICH."""
        tool = self.folder / 'py-spy'
        parse = 'while [ $# -gt 0 ]; do [ "$1" = --output ] && FILE=$2; WHICH=$1; shift; done\n'
        tool.write_text(f'#!/bin/sh\n{parse}{text}')
        os.chmod(tool, 0o755)

    def profile(self, seconds: int = 1, request_id: str = 'attempt-2-master-0-1') -> Dict[str, Any]:
        self.profiler.on_answer({'command': 'CONTINUE', 'profile': {'requestId': request_id, 'seconds': seconds}})
        self.assertTrue(self.ended.wait(30))
        return self.profiler.to_json()

    def start(self, pids: Any = None) -> None:
        self.profiler.start(Program(lambda: [self.pid] if pids is None else pids, self.folder / 'python'))

    def test_a_profile_is_in_the_job_directory_before_it_is_reported(self) -> None:
        file = json.dumps(recorded(f'Thread {self.pid} ""', ['train'], [[0], [0]]))
        self.write_tool(f"echo '{file}' > $FILE")
        self.start()
        self.assertEqual(self.profile()['state'], 'RECORDED')
        self.assertEqual(self.states, ['RECORDING', 'RECORDED'])
        (name, saved), = self.directory.objects.items()
        self.assertEqual(name, 'dropforge-profiles/digits/attempt-2-master-0-1.speedscope.json')
        self.assertEqual([profile['name'] for profile in saved['profiles']], ['MainThread', HOLDS_LOCK])
        self.assertGreaterEqual(saved['dropforge']['cpuCount'], 1)
        self.assertFalse((self.folder / 'profile').exists())

    def test_a_request_that_is_repeated_is_recorded_once(self) -> None:
        self.start()
        self.profile()
        self.profile()
        self.assertEqual(self.states, ['RECORDING', 'FAILED'])

    def test_each_failure_is_a_sentence(self) -> None:
        cases = [
            ('echo "Permission Denied: Try running again with elevated permissions" >&2; exit 1', 'ptrace_scope'),
            ('echo "Error: Failed to find python version from target process" >&2; exit 1', 'newer release'),
            ('echo "Error: Check that the process is running." >&2; exit 1', 'ended before'),
            ('kill -XFSZ $$', f'larger than {FILE_BYTES_MAX} bytes'),
            ('echo "Error: odd" >&2; exit 1', 'py-spy failed: Error: odd'),
            ('echo "{" > $FILE', 'wrote no profile'),
        ]
        self.start()
        for number, (tool, expected) in enumerate(cases):
            with self.subTest(expected):
                self.write_tool(tool)
                self.ended.clear()
                state = self.profile(request_id=f'request-{number}')
                self.assertEqual(state['state'], 'FAILED')
                self.assertIn(expected, state['message'])
        self.assertEqual(self.directory.objects, {})

    def test_a_bucket_that_fails_is_the_reason(self) -> None:
        file = json.dumps(recorded('Thread 1 "MainThread"', ['train'], [[0]]))
        self.write_tool(f"echo '{file}' > $FILE")
        self.directory.error = TransientError('503')
        self.start()
        self.assertIn('could not be saved', self.profile()['message'])

    def test_without_py_spy_or_python_or_program_it_says_so(self) -> None:
        self.assertIn('has not started', self.profile()['message'])
        path = os.environ['PATH']
        self.addCleanup(os.environ.__setitem__, 'PATH', path)
        os.environ['PATH'] = '/nowhere'
        self.ended.clear()
        self.start()
        self.assertEqual(self.profile(request_id='b')['message'], NO_PY_SPY)
        os.environ['PATH'] = path
        self.write_tool('exit 1')
        self.ended.clear()
        self.start(pids=[])
        self.assertEqual(self.profile(request_id='c')['message'], NO_PYTHON)

    def test_a_request_that_is_not_valid_is_ignored(self) -> None:
        for request in (None, 'now', {}, {'requestId': '../a', 'seconds': 3}, {'requestId': 'a', 'seconds': 301}):
            self.assertIsNone(read_request({'command': 'CONTINUE', 'profile': request}))


class RecordTest(unittest.TestCase):
    def test_longer_profiles_have_fewer_samples_a_second(self) -> None:
        self.assertEqual([sampling_rate(seconds) for seconds in (1, 30, 60, 300)], [100, 100, 50, 10])

    def test_a_tool_that_cannot_be_started_is_a_sentence(self) -> None:
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(ProfileFailed, 'failed'):
            record('/nowhere/py-spy', 1, 1, Path(folder), lambda: None)


class MeterTest(unittest.TestCase):
    def test_measures_the_cpu_of_the_program_and_the_gpus(self) -> None:
        busy = iter([0.2, 0.4])
        meter = ProfileMeter(os.getpid(), lambda: (GpuUsage('T4', next(busy), 0, 1),))
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass
        meter.add()
        measured = meter.to_json()
        self.assertGreater(measured['processCpu'], 0)
        self.assertGreater(measured['mainThreadCpu'], 0)
        self.assertEqual(measured['gpuBusyFractions'], [0.3])


if __name__ == '__main__':
    unittest.main()
