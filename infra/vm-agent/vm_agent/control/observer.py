"""Measures the program and its VM: metrics, system series, health and usage."""

import time
from functools import partial
from pathlib import Path
from typing import Mapping

from vm_agent.container.layout import container_stack_dumps
from vm_agent.control.health_watch import HealthWatch, Outlets
from vm_agent.control.logs import Logs
from vm_agent.control.state_file import State
from vm_agent.control.stop_signal import StopSignal
from vm_agent.control.vm import Vm
from vm_agent.health.monitor import HealthMonitor
from vm_agent.metrics.program_metrics import READ_SECONDS, MetricPaths, MetricSettings, ProgramMetrics
from vm_agent.metrics.samples.boot_clock import BootClock
from vm_agent.metrics.series.series_history import SeriesHistory
from vm_agent.metrics.series.series_part import METRICS_KIND, SYSTEM_KIND, SeriesOrigin
from vm_agent.metrics.series.series_upload import SeriesUpload
from vm_agent.metrics.sources.bucket_events import BucketEvents
from vm_agent.metrics.system_metrics import SystemMeter, SystemSampler, SystemSeries
from vm_agent.paths.installer import stack_dump_file
from vm_agent.program.gpu_meter import GpuMeter
from vm_agent.program.usage import DiskMeter, UsageMeter

# For the rest of the series, before and after the output is saved.
UPLOAD_SECONDS_MAX = 5.0


class Observer:
    """Started once: it measures the VM from its boot on, and the program from `start_program` to `end_program`."""

    def __init__(self, vm: Vm, logs: Logs, stop_signal: StopSignal) -> None:
        self._vm = vm
        self._logs = logs
        limits = vm.config.limits
        self.disk = DiskMeter(vm.home, vm.staging)
        self._gpus = GpuMeter()
        self.usage = UsageMeter(self.disk, limits.disk_bytes_max, self._gpus)
        clock = BootClock()
        self._sampler = SystemSampler(SystemMeter(vm.home, self._gpus, clock), logs.log)
        history, system_history = self._open_history(METRICS_KIND), self._open_history(SYSTEM_KIND)
        system_history.recover(None)
        system = SystemSeries(system_history, clock)
        self._upload = SeriesUpload((history, system_history), vm.directory, logs.log)
        self._upload.before_upload.append(system.write)
        self.metrics = self._open_metrics(history)
        outlets = Outlets(stop_signal, logs.log)
        self.health = HealthWatch(
            HealthMonitor(vm.config.health), outlets, (lambda: self.disk.used_bytes, limits.disk_bytes_max)
        )
        self.metrics.on_sample.append(self.health.on_sample)
        self._sampler.on_reading += [self.health.on_reading, system.add]

    def _open_history(self, kind: str) -> SeriesHistory:
        spec = self._vm.config.spec
        origin = SeriesOrigin(spec.attempt, spec.name, self._vm.boot)
        return SeriesHistory(self._vm.home / 'series', kind, origin, self._logs.log)

    def _open_metrics(self, history: SeriesHistory) -> ProgramMetrics:
        config, spec = self._vm.config, self._vm.config.spec
        # In a cluster, only the master's metrics count for a tuning.
        settings = MetricSettings(
            attempt_id=f'{spec.job_id}/{spec.attempt}',
            metric_ids=spec.trial.metric_ids if spec.trial is not None and spec.is_master else None,
            bucket_events=BucketEvents(self._vm.directory) if spec.is_master else None,
            history=history,
            log=self._logs.log,
            saves_output=spec.is_master,
            reads_output=config.options.metrics_from_output,
        )
        return ProgramMetrics(MetricPaths(self._vm.home), self._logs.mask, settings)

    def start(self) -> None:
        """Measures the disk once before it returns."""
        self.disk.start()
        self._gpus.start()
        self._sampler.start()
        self._upload.start(self._vm.config.intervals.sync_seconds)

    def start_program(self, state: State, counts: Mapping[str, int]) -> float:
        """
        Called just before the program starts, or starts again after a reboot. `counts` are those of the reports in the
        files with which it begins. Returns when it started first, in seconds since the epoch.
        """
        started_at = state.program_started_at or time.time()
        intervals = self._vm.config.intervals
        if state.saved_folder is not None:
            self.metrics.read_below(Path(state.saved_folder))
        self.metrics.continue_counts(counts)
        self.metrics.start(started_at, state.program_started_at is not None, intervals.sync_seconds)
        self.metrics.follow(min(READ_SECONDS, intervals.heartbeat_seconds))
        return started_at

    def watch_processes(self, pid: int) -> None:
        """`pid` is that of the program, which leads its session."""
        venv = self._vm.venv
        if self._vm.config.container is None:
            self.health.start(pid, venv, partial(stack_dump_file, venv))
        else:
            self.health.start(pid, venv, partial(container_stack_dumps, self._vm.home))

    def add_output(self, stream: str, block: bytes) -> None:
        self.metrics.add_output(stream, block)
        self.health.add_output(stream)

    def end_program(self, is_hurried: bool) -> None:
        """Reads and uploads the rest. `is_hurried`: only what takes a moment."""
        self.metrics.finish(is_hurried)
        self.health.stop()
        self._sampler.sample()
        self.finish()

    def finish(self) -> None:
        self._upload.finish(UPLOAD_SECONDS_MAX)
