"""
Profiles the program when the control plane asks for it: in a thread of its own, one profile at a time. The request is
repeated in the answers to heartbeats until the agent reports it, so a lost message costs an interval.
"""

import json
import os
import re
import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Collection, Dict, List, Mapping, Optional, Tuple

from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.profiling.main_process import (
    choose_main,
    cpu_seconds_of,
    list_workers,
    main_thread_delay,
    main_thread_seconds,
    read_processes,
)
from vm_agent.profiling.py_spy import ProfileFailed, find_py_spy, record, sampling_rate
from vm_agent.program.gpu_meter import GpuUsage
from vm_agent.storage.client import StorageRejected
from vm_agent.storage.job_directory import Fenced, JobDirectory
from vm_agent.storage.output_files import PROFILES_PREFIX

SECONDS_MAX = 300
# Part of the file's name.
REQUEST_ID = re.compile(r'[a-z0-9-]{1,64}')
MESSAGE_CHARS_MAX = 500
# The work of each process is compared over this time.
COMPARE_SECONDS = 1.0
UPLOAD_SECONDS_MAX = 60.0
CPU_DIGITS = 3
NO_PY_SPY = (
    'py-spy is neither in the environment of the program nor on the machine. Add `py-spy` to the requirements of the '
    'package; for a container, install it on the machine image.'
)
NO_PYTHON = 'The program has no Python process that could be profiled.'


@dataclass(frozen=True)
class Program:
    """What the profiler knows of the program that runs."""

    pids: Callable[[], Collection[int]]
    python: Path
    """Its interpreter, next to which py-spy may be installed."""


@dataclass(frozen=True)
class Outlets:
    directory: JobDirectory
    folder: Path
    """For its files; emptied before each profile."""
    gpus: Callable[[], Tuple[GpuUsage, ...]]
    log: Callable[[str, str], None]
    report: Callable[[], None]
    """Called when `to_json` has news."""


def read_request(answer: Mapping[str, Any]) -> Optional[Tuple[str, int]]:
    """Returns the id and the seconds of the profile that an answer asks for; None if it asks for none."""
    request = answer.get('profile')
    if not isinstance(request, dict):
        return None
    request_id, seconds = request.get('requestId'), request.get('seconds')
    if type(seconds) is not int or not 1 <= seconds <= SECONDS_MAX or not isinstance(request_id, str):
        return None
    return (request_id, seconds) if REQUEST_ID.fullmatch(request_id) else None


def state_of(request_id: str, state: str, message: str) -> Dict[str, Any]:
    """Returns a profile as heartbeats report it."""
    return {'requestId': request_id, 'state': state, 'message': message[:MESSAGE_CHARS_MAX]}


class Profiler:
    def __init__(self, outlets: Outlets) -> None:
        self._outlets = outlets
        self._program: Optional[Program] = None
        self._state: Optional[Dict[str, Any]] = None
        self._thread: Optional[threading.Thread] = None

    def start(self, program: Program) -> None:
        """The program runs."""
        self._program = program

    def on_answer(self, answer: Mapping[str, Any]) -> None:
        """Starts the profile that an answer of the control plane asks for, unless it was started before."""
        request = read_request(answer)
        if request is None or (self._thread is not None and self._thread.is_alive()):
            return
        if self._state is not None and self._state['requestId'] == request[0]:
            return
        self._set(request[0], 'RECORDING', '')
        self._thread = threading.Thread(target=self._run, args=request, name='profiler', daemon=True)
        self._thread.start()

    def to_json(self) -> Optional[Dict[str, Any]]:
        """Returns the last profile as heartbeats report it; None if there was none in this boot."""
        return self._state

    def _set(self, request_id: str, state: str, message: str) -> None:
        self._state = state_of(request_id, state, message)
        self._outlets.report()

    def _run(self, request_id: str, seconds: int) -> None:
        try:
            name = self._profile(request_id, seconds)
            self._outlets.log(f'The program was profiled for {seconds} s: {name} in the job directory.', 'INFO')
            self._set(request_id, 'RECORDED', '')
        except ProfileFailed as failed:
            self._fail(request_id, str(failed))
        except (TransientError, StorageRejected, Fenced) as error:
            self._fail(request_id, f'The profile could not be saved in the job directory: {error}')
        except Exception as error:
            # A defect of the profiler costs a profile, not the job.
            self._fail(request_id, f'The profiler failed: {error!r}')

    def _fail(self, request_id: str, message: str) -> None:
        self._outlets.log(f'The program could not be profiled. {message}', 'WARNING')
        self._set(request_id, 'FAILED', message)

    def _profile(self, request_id: str, seconds: int) -> str:
        """Returns the name of the file in the job directory."""
        program = self._program
        if program is None:
            raise ProfileFailed('The program has not started. Profile it when the job is RUNNING.')
        tool = find_py_spy(program.python)
        if tool is None:
            raise ProfileFailed(NO_PY_SPY)
        main = self._find_main(program)
        folder = self._outlets.folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        meter = ProfileMeter(main, self._outlets.gpus)
        try:
            profile = record(tool, main, seconds, folder, meter.add)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if not profile['profiles'] or not profile['profiles'][0]['samples']:
            raise ProfileFailed('The program ended before it could be profiled.')
        author = self._outlets.directory.author
        facts = {'requestId': request_id, 'rate': sampling_rate(seconds), **meter.to_json()}
        named = {**profile, 'name': f'{author.job_id}: {request_id}', 'dropforge': facts}
        name = f'{PROFILES_PREFIX}{author.job_id}/{request_id}.speedscope.json'
        data = json.dumps(named, separators=(',', ':')).encode()
        self._outlets.directory.upload_bytes(name, data, RetryPolicy(5, UPLOAD_SECONDS_MAX))
        return name

    @staticmethod
    def _find_main(program: Program) -> int:
        before = read_processes(program.pids())
        time.sleep(COMPARE_SECONDS)
        main = choose_main(before, read_processes(program.pids()))
        if main is None:
            raise ProfileFailed(NO_PYTHON)
        return main


class ProfileMeter:
    """What the program and the GPUs did while it was profiled."""

    def __init__(self, pid: int, gpus: Callable[[], Tuple[GpuUsage, ...]]) -> None:
        self._pid = pid
        self._gpus = gpus
        self._busy: List[Tuple[float, ...]] = []
        self._started_at = time.time()
        # By worker, its CPU seconds when it was seen first and last.
        self._workers: Dict[int, Tuple[float, float]] = {}
        self._worker_count = 0
        self._began = self._ended = self._measure()
        self.add()

    def add(self) -> None:
        now = self._measure()
        # Of a process that has ended, the last values count.
        self._ended = now if now[1] > 0 else self._ended
        workers = list_workers(self._pid)
        self._worker_count = max(self._worker_count, len(workers))
        for worker in workers:
            seconds = cpu_seconds_of(worker)
            first, last = self._workers.get(worker, (seconds, seconds))
            self._workers[worker] = (first, max(last, seconds))
        gpus = self._gpus()
        if gpus:
            self._busy.append(tuple(gpu.busy_fraction for gpu in gpus))

    def to_json(self) -> Dict[str, Any]:
        """Returns CPU in cores."""
        seconds = max(0.001, self._ended[0] - self._began[0])
        process, thread, delay = (max(0.0, now - before) for now, before in zip(self._ended[1:], self._began[1:]))
        workers = sum(last - first for first, last in self._workers.values())
        busy = [values for values in self._busy if len(values) == len(self._busy[-1])]
        return {
            'version': 1,
            'startedAt': round(self._started_at * 1_000),
            'seconds': round(seconds, CPU_DIGITS),
            'mainThreadCpu': round(thread / seconds, CPU_DIGITS),
            'mainThreadDelay': round(delay / seconds, CPU_DIGITS),
            'processCpu': round(process / seconds, CPU_DIGITS),
            'workerCount': self._worker_count,
            'workerCpu': round(workers / seconds, CPU_DIGITS),
            'cpuCount': os.cpu_count() or 1,
            'gpuBusyFractions': [round(sum(values) / len(busy), CPU_DIGITS) for values in zip(*busy)],
        }

    def _measure(self) -> Tuple[float, float, float, float]:
        """Returns the time, the CPU seconds of the process and of its main thread, and how long that waited for a CPU."""
        pid = self._pid
        return time.monotonic(), cpu_seconds_of(pid), main_thread_seconds(pid), main_thread_delay(pid)
