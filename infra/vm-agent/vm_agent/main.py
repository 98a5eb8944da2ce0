"""Runs the agent: one boot of the VM, from its configuration to the delivered exit report."""

import os
import shutil
import threading
import time
import traceback
from dataclasses import replace
from functools import partial
from pathlib import Path

from vm_agent.cache.store import BackgroundStore
from vm_agent.container.layout import container_stack_dumps
from vm_agent.container.pull import RegistryAccess
from vm_agent.control.config import Config, ConfigError, parse_config
from vm_agent.control.context import Replica
from vm_agent.control.decisions import BootPlan, StopNotice, plan_boot
from vm_agent.control.health_watch import HealthWatch, Outlets
from vm_agent.control.heartbeats import Heartbeats, Probes
from vm_agent.control.machine_notices import explain_termination, watch_machine
from vm_agent.control.metadata_server import (
    DEFAULT_HOST,
    MetadataMissing,
    MetadataServer,
    access_token,
    identity_token,
)
from vm_agent.control.output_findings import OutputFindings
from vm_agent.control.rejected_config import report_rejected_config
from vm_agent.control.replica import run_replica, save_output
from vm_agent.control.roll_back import is_rollback, roll_back
from vm_agent.control.state_file import State, StateFile
from vm_agent.control.stop_signal import StopSignal
from vm_agent.control.supervisor import Monitored, Supervisor
from vm_agent.health.monitor import HealthMonitor
from vm_agent.http.request import is_disk_full
from vm_agent.http.retry import TransientError
from vm_agent.logs.cloud_logging import CloudLogging
from vm_agent.logs.fold import FoldLimits
from vm_agent.logs.full_log import FullLog
from vm_agent.logs.log_entries import LogSource
from vm_agent.logs.log_shipper import LogSettings, LogShipper
from vm_agent.logs.mask import Mask
from vm_agent.logs.output_log import OutputLog
from vm_agent.logs.serial_console import write_to_console
from vm_agent.metrics.program_metrics import MetricPaths, MetricSettings, ProgramMetrics
from vm_agent.metrics.samples.boot_clock import BootClock
from vm_agent.metrics.series.series_history import SeriesHistory
from vm_agent.metrics.series.series_part import METRICS_KIND, SYSTEM_KIND, SeriesOrigin
from vm_agent.metrics.series.series_upload import SeriesUpload
from vm_agent.metrics.sources.bucket_events import BucketEvents
from vm_agent.metrics.system_metrics import SystemMeter, SystemSampler
from vm_agent.metrics.system_series import SystemSeries
from vm_agent.paths.installer import stack_dump_file
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.program.gpu_faults import GpuFaults
from vm_agent.program.gpu_meter import GpuMeter
from vm_agent.program.processes import become_subreaper
from vm_agent.program.usage import DiskMeter, UsageMeter
from vm_agent.setup.job_secrets import JobSecrets, SecretManager
from vm_agent.setup.proxy_exceptions import loopback_exceptions
from vm_agent.shell.enter import remove_entry
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.directory.log_upload import LogUpload, logs_prefix_of
from vm_agent.storage.output.output_sync import OutputSync
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.staging import STAGING_FOLDER, Staging
from vm_agent.storage.restore.rollback import Moment
from vm_agent.storage.transfer.client import Author, Storage

DEFAULT_HOME = '/var/lib/dropforge'
LOG_FLUSH_SECONDS_MAX = 10.0
# For the rest of the complete log after a program that ended by itself.
LOG_UPLOAD_SECONDS_MAX = 300.0
# For the rest of the metrics, before and after the output is saved.
SERIES_UPLOAD_SECONDS_MAX = 5.0
# The share of the work disk that the complete log may take until it is uploaded.
LOG_DISK_FRACTION_MAX = 0.1
LOG_DISK_BYTES_MAX = 2_147_483_648


def main() -> int:
    """Runs the replica and delivers its exit report. Returns 0 if the control plane has answered it, else 1."""
    os.environ.update(loopback_exceptions(os.environ))
    home = Path(os.environ.get('DROPFORGE_HOME', DEFAULT_HOME)).absolute()
    home.mkdir(parents=True, exist_ok=True)
    metadata = MetadataServer(os.environ.get('GCE_METADATA_HOST', DEFAULT_HOST))
    stop_signal = StopSignal()
    stop_signal.handle_termination_signals(lambda: explain_termination(metadata))
    become_subreaper()
    try:
        config = parse_config(metadata.attribute('dropforge-config'))
        boot = Boot(config, home, metadata, stop_signal)
    except (ConfigError, MetadataMissing, TransientError) as error:
        # Without a configuration, the serial console is the only sure channel.
        write_to_console(f'the agent cannot start, and the VM powers off. {error}')
        is_reported = isinstance(error, ConfigError) and report_rejected_config(metadata, error)
        return 0 if is_reported else 1
    return boot.run()


class Boot:
    """Everything that lives as long as the agent's process."""

    def __init__(self, config: Config, home: Path, metadata: MetadataServer, stop_signal: StopSignal) -> None:
        spec, endpoints = config.spec, config.endpoints
        self._config = config
        self._home = home
        self._metadata = metadata
        self._stop_signal = stop_signal
        self._instance = metadata.instance()
        self._state_file = StateFile(home / 'state.json')
        self._state = self._state_file.open_boot(spec.job_id, spec.attempt)
        self._token = access_token(metadata)
        self._mask = Mask()
        settings = LogSettings(
            id_prefix=f'{self._instance.instance_id}-{self._state.boot}',
            flush_seconds=config.intervals.log_seconds,
            mask=self._mask,
        )
        source = LogSource(
            spec.project_id, spec.job_id, spec.attempt, spec.name, self._instance.instance_id, self._instance.zone
        )
        self._logs = LogShipper(settings, CloudLogging(endpoints.logging_url, source, self._token).write)
        log_bytes_max = min(LOG_DISK_BYTES_MAX, int(LOG_DISK_FRACTION_MAX * config.limits.disk_bytes_max))
        log_name = f'attempt-{spec.attempt}-{spec.name}-boot-{self._state.boot:04d}'
        self._full_log = FullLog(home / 'logs', log_name, log_bytes_max)
        fold_limits = FoldLimits(config.limits.log_bytes_max)
        log_uri = f'{spec.job_dir}/{logs_prefix_of(spec.job_id)}'
        self._output = OutputLog(self._logs, self._full_log, fold_limits, log_uri)
        identity = identity_token(metadata, endpoints.heartbeat_audience)
        self._heartbeats = Heartbeats(config, identity, stop_signal, self._logs.log)
        self._staging_folder = home / STAGING_FOLDER
        self._disk = DiskMeter(home, self._staging_folder)
        self._gpus = GpuMeter()
        clock = BootClock()
        self._sampler = SystemSampler(SystemMeter(home, self._gpus, clock), self._logs.log)
        self._background_store = BackgroundStore(self._logs.log)
        self._storage = Storage(endpoints.storage_url, self._token)
        self._directory = JobDirectory(self._storage, spec.job_dir, Author(spec.job_id, spec.attempt))
        origin = SeriesOrigin(spec.attempt, spec.name, self._state.boot)
        history = SeriesHistory(home / 'series', METRICS_KIND, origin, self._logs.log)
        system_history = SeriesHistory(home / 'series', SYSTEM_KIND, origin, self._logs.log)
        system_history.recover(None)
        self._system = SystemSeries(system_history, clock)
        self._series_upload = SeriesUpload((history, system_history), self._directory, self._logs.log)
        self._metrics = self._create_metrics(history)
        outlets = Outlets(stop_signal, self._logs.log)
        disk = (lambda: self._disk.used_bytes, config.limits.disk_bytes_max)
        self._health = HealthWatch(HealthMonitor(config.health), outlets, disk)
        self._metrics.on_sample.append(self._health.on_sample)
        self._sampler.on_reading.append(self._health.on_reading)

    def _create_metrics(self, history: SeriesHistory) -> ProgramMetrics:
        config, spec = self._config, self._config.spec
        # In a cluster, only the master's metrics count for a tuning.
        settings = MetricSettings(
            attempt_id=f'{spec.job_id}/{spec.attempt}',
            metric_ids=spec.trial.metric_ids if spec.trial is not None and spec.saves_output else None,
            bucket_events=BucketEvents(self._storage, self._directory) if spec.saves_output else None,
            history=history,
            log=self._logs.log,
            saves_output=spec.saves_output,
            reads_output=config.options.metrics_from_output,
        )
        return ProgramMetrics(MetricPaths(self._home), self._mask, settings)

    def run(self) -> int:
        plan = plan_boot(self._state)
        if plan == BootPlan.POWER_OFF:
            return 0
        report = self._state.exit
        if report is not None:
            self._metrics.resume(self._state.program_started_at)
            self._heartbeats.set_program_end(report, self._state.program_ended_at)
        self._start_threads()
        replica = self._create_replica()
        log_upload = LogUpload(self._full_log, replica.directory, self._logs.log)
        log_upload.start()
        if plan == BootPlan.RUN or report is None:
            report = self._run_program(replica)
            self._output.finish()
            self._metrics.finish(self._state.is_hurried)
            self._health.stop()
            self._sampler.sample()
            self._series_upload.finish(SERIES_UPLOAD_SECONDS_MAX)
        self._heartbeats.set_program_end(report, self._state.program_ended_at)
        if not self._state.is_output_saved:
            report = self._save_output(replica, report)
        is_hurried = self._state.is_hurried
        self._background_store.finish(is_hurried)
        self._series_upload.finish(SERIES_UPLOAD_SECONDS_MAX)
        log_upload.finish(LOG_FLUSH_SECONDS_MAX if is_hurried else LOG_UPLOAD_SECONDS_MAX)
        self._logs.log(f'{report.reason}: {report.message}')
        self._logs.close(LOG_FLUSH_SECONDS_MAX, self._heartbeats.is_unreachable)
        # Lines that could not be delivered until now make the complete log wanted.
        log_upload.finish(LOG_FLUSH_SECONDS_MAX)
        is_delivered = self._heartbeats.deliver_exit(report)
        self._write_state(replace(self._state, is_exit_delivered=is_delivered))
        if is_delivered:
            self._heartbeats.stay(report)
        remove_entry(self._home)
        return 0 if is_delivered else 1

    def _start_threads(self) -> None:
        spec, limits = self._config.spec, self._config.limits
        threading.excepthook = self._on_thread_error
        self._logs.on_flush, self._logs.on_lost = self._output.flush, self._full_log.want
        self._logs.start()
        self._logs.log(f'Boot {self._state.boot} for attempt {spec.attempt} of job {spec.job_id}.')
        self._disk.start()
        self._gpus.start()
        self._sampler.on_reading.append(self._system.add)
        self._sampler.start()
        self._series_upload.before_upload.append(self._system.write)
        self._series_upload.start(self._config.intervals.sync_seconds)
        usage = UsageMeter(self._disk, limits.disk_bytes_max, self._gpus)
        state = self._state
        probes = Probes(usage.measure, self._metrics, self._health.to_json)
        self._heartbeats.start(state.boot, state.first_sequence, probes)
        self._stop_signal.on_interruption.append(self._log_interruption)
        watch_machine(
            self._metadata, self._stop_signal, limits.preemption_notice_seconds, self._config.gpu_count > 0
        )

    def _create_replica(self) -> Replica:
        config = self._config
        endpoints = config.endpoints
        tree = OutputTree(self._home / 'output')
        staging = Staging(self._staging_folder, tree, self._staging_bytes)
        secret_manager = SecretManager(endpoints.secret_manager_url, self._token, self._metadata.service_account)
        sync = OutputSync(self._directory, tree, staging, self._logs.log)
        findings = OutputFindings(self._health.monitor.record)
        sync.report_unsaved(findings.add_unsaved)
        sync.count_reports = self._metrics.count_reports
        monitored = Monitored(
            limits=config.limits,
            stop_signal=self._stop_signal,
            last_answer_at=lambda: self._heartbeats.last_answer_at,
            disk_bytes=lambda: self._disk.used_bytes,
            on_output=self._add_output,
            before_signal=sync.record_signal,
            on_started=self._on_started,
            gpu_faults=GpuFaults(config.gpu_count),
            find_exception=lambda: self._health.stuck.explanation,
        )
        self._stop_signal.on_interruption.append(sync.request_sync)
        secrets = JobSecrets(secret_manager, config.secrets, self._mask)
        return Replica(
            config=config,
            home=self._home,
            vm=self._vm,
            storage=self._storage,
            directory=self._directory,
            secrets=secrets,
            sync=sync,
            supervisor=Supervisor(monitored),
            background_store=self._background_store,
            stop_signal=self._stop_signal,
            set_phase=self._heartbeats.set_phase,
            may_start=lambda: self._heartbeats.may_start,
            log=self._logs.log,
            write_state=self._write_state,
            metrics=self._metrics,
            disk=self._disk,
            findings=findings,
            registry_access=RegistryAccess(
                access_token=lambda: self._token.bearer().partition(' ')[2],
                account=secret_manager.account,
                read_secret=secrets.read_login,
            ),
        )

    @property
    def _vm(self) -> str:
        return f'{self._instance.instance_id}@{self._home}'

    def _on_started(self, pid: int) -> None:
        venv = self._home / 'venv'
        is_container = self._config.container is not None
        find_dump_file = container_stack_dumps if is_container else stack_dump_file
        self._health.start(pid, venv, partial(find_dump_file, self._home if is_container else venv))

    def _add_output(self, stream: str, block: bytes) -> None:
        self._output.add(stream, block)
        self._metrics.add_output(stream, block)
        self._health.add_output(stream)

    def _log_interruption(self) -> None:
        interruption = self._stop_signal.interruption
        if interruption is not None:
            then = 'The program is stopped.' if interruption.is_stopping else 'The output is saved, the program goes on.'
            self._logs.log(f'{interruption.message} {then}', 'WARNING')

    def _staging_bytes(self) -> int:
        """Returns the bytes that copies of the output may take: half of what is free, so that the program has space."""
        allowed_bytes = self._config.limits.disk_bytes_max - self._disk.used_bytes
        return min(allowed_bytes, shutil.disk_usage(self._home).free) // 2

    def _run_program(self, replica: Replica) -> ExitReport:
        """Any exception becomes a report: a VM that ends without one would be replaced again and again."""
        try:
            report = run_replica(replica, self._state)
        except ReplicaEnded as end:
            report = end.report
        except Exception as error:
            report = describe_internal_error(error)
        report = self._mask_report(report)
        has_output = self._state.program_started_at is not None
        notice = self._stop_signal.notice
        state = replace(
            self._state,
            exit=report,
            program_ended_at=replica.supervisor.program_ended_at,
            bad_since=None if report.health is None else report.health.bad_since,
            is_stopped_early=notice is not None and notice.is_early_stop and report.reason == notice.reason,
            is_output_saved=not has_output,
        )
        self._write_state(state)
        return report

    def _save_output(self, replica: Replica, report: ExitReport) -> ExitReport:
        try:
            report = save_output(replica, self._state, report, self._saving_seconds())
            if is_rollback(report):
                moment = Moment(self._state.bad_since, self._state.program_started_at or time.time())
                report = roll_back(replica, report, moment, self._saving_seconds())
        except Exception as error:
            report = describe_internal_error(error)
        report = self._mask_report(report)
        self._write_state(replace(self._state, exit=report, is_output_saved=True))
        return report

    def _saving_seconds(self) -> float:
        limits = self._config.limits
        # A VM that was told to stop or has no control plane may be an orphan; it gets less time than a program that
        # has ended by itself.
        return limits.control_plane_timeout_seconds if self._state.is_hurried else limits.upload_seconds

    def _mask_report(self, report: ExitReport) -> ExitReport:
        """The program's lines are already masked; the agent's own texts may contain a secret, too."""
        evidence = tuple(self._mask(line) for line in report.evidence)
        return replace(report, message=self._mask(report.message), evidence=evidence)

    def _write_state(self, state: State) -> None:
        self._state = state
        try:
            self._state_file.write(state)
        except OSError as error:
            # A full disk must not keep the report from being delivered; a reboot would only repeat some steps.
            self._logs.log(f'The state file could not be written: {error}', 'ERROR')

    def _on_thread_error(self, args: threading.ExceptHookArgs) -> None:
        report = describe_internal_error(args.exc_value or RuntimeError('a thread ended without an exception'))
        self._stop_signal.request_stop(StopNotice(report.reason, f'{report.message} {report.evidence[-1]}'))


def describe_internal_error(error: BaseException) -> ExitReport:
    """Returns the exit report for an error of the agent itself, with the traceback as evidence."""
    if is_disk_full(error):
        return ExitReport('DISK_FULL', 'The disk of the VM is full.', evidence=(str(error),))
    lines = ''.join(traceback.format_exception(type(error), error, error.__traceback__)).splitlines()
    return ExitReport('AGENT_FAILED', "The VM's agent failed with an internal error.", evidence=tuple(lines))
