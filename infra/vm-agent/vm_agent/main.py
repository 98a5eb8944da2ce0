"""Runs the agent: one boot of the VM, from its configuration to the delivered exit report."""

import os
import sys
import threading
import time
import traceback
from dataclasses import replace
from pathlib import Path

from vm_agent.cache.store import BackgroundStore
from vm_agent.control.config import Config, ConfigError, parse_config
from vm_agent.control.decisions import StopNotice
from vm_agent.control.heartbeats import Heartbeats
from vm_agent.control.launcher import Setup
from vm_agent.control.logs import Logs
from vm_agent.control.machine_notices import explain_termination, watch_machine
from vm_agent.control.metadata_server import (
    DEFAULT_HOST,
    MetadataMissing,
    MetadataServer,
    access_token,
    identity_token,
)
from vm_agent.control.observer import Observer
from vm_agent.control.outputs import Outputs
from vm_agent.control.rejected_config import report_rejected_config
from vm_agent.control.replica import Replica
from vm_agent.control.state_file import StateFile
from vm_agent.control.stop_signal import StopSignal
from vm_agent.control.supervisor import Monitored, Supervisor
from vm_agent.control.vm import Vm
from vm_agent.http.request import is_disk_full
from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.logs.serial_console import write_to_console
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.program.gpu_faults import GpuFaults
from vm_agent.program.processes import become_subreaper
from vm_agent.setup.job_secrets import JobSecrets, SecretManager
from vm_agent.setup.proxy_exceptions import loopback_exceptions
from vm_agent.shell.enter import DEFAULT_HOME, remove_entry
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.restore.rollback import Moment
from vm_agent.storage.transfer.client import Author, Storage

# How long Cloud Storage may fail during setup before another VM is tried; heartbeats extend the lease meanwhile.
SETUP_RETRY_SECONDS_MAX = 300.0


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
    """The parts of the agent, each with its own threads and its own end; `run` has their order."""

    def __init__(self, config: Config, home: Path, metadata: MetadataServer, stop_signal: StopSignal) -> None:
        spec, endpoints = config.spec, config.endpoints
        instance = metadata.instance()
        self._state = StateFile(home / 'state.json')
        boot = self._state.open_boot(spec.job_id, spec.attempt).boot
        token = access_token(metadata)
        storage = Storage(endpoints.storage_url, token)
        directory = JobDirectory(storage, spec.job_dir, Author(spec.job_id, spec.attempt))
        self._vm = vm = Vm(config, home, instance, boot, token, directory)
        self._metadata = metadata
        self._stop_signal = stop_signal
        self._logs = logs = Logs(vm)
        self._state.log = logs.log
        identity = identity_token(metadata, endpoints.heartbeat_audience)
        self._heartbeats = Heartbeats(vm, identity, stop_signal, logs)
        self._observer = Observer(vm, logs, stop_signal)
        secret = lambda: self._heartbeats.peer_secret
        self._outputs = Outputs(vm, self._observer, secret, logs.log)
        self._background_store = BackgroundStore(logs.log)

    def run(self) -> int:
        state = self._state
        report = state.current.exit
        if state.current.is_exit_delivered:
            return 0
        if report is not None:
            self._observer.metrics.resume(state.current.program_started_at)
            self._heartbeats.set_program_end(report, state.current.program_ended_at)
        self._start_threads()
        if report is None:
            # A program that has ended is never run again.
            report = self._run_program()
            self._logs.end_output()
            self._observer.end_program(state.current.is_hurried)
        self._heartbeats.set_program_end(report, state.current.program_ended_at)
        if not state.current.is_output_saved:
            report = self._save_output(report)
        is_hurried = state.current.is_hurried
        self._background_store.finish(is_hurried)
        self._observer.finish()
        self._logs.finish(f'{report.reason}: {report.message}', is_hurried, self._heartbeats.is_unreachable)
        is_delivered = self._heartbeats.deliver_exit(report)
        state.update(is_exit_delivered=is_delivered)
        if is_delivered:
            self._heartbeats.stay(report)
        remove_entry(self._vm.home)
        return 0 if is_delivered else 1

    def _start_threads(self) -> None:
        config, state = self._vm.config, self._state.current
        threading.excepthook = self._on_thread_error
        self._logs.start()
        self._logs.log(f'Boot {state.boot} for attempt {state.attempt} of job {state.job_id}.')
        self._observer.start()
        self._heartbeats.start(state.first_sequence, self._observer)
        self._stop_signal.on_interruption += [self._log_interruption, self._outputs.sync.request_sync]
        notice_seconds = config.limits.preemption_notice_seconds
        watch_machine(self._metadata, self._stop_signal, notice_seconds, config.gpu_count > 0)
        self._logs.start_upload()

    def _run_program(self) -> ExitReport:
        """Any exception becomes a report: a VM that ends without one would be replaced again and again."""
        supervisor = self._create_supervisor()
        try:
            report = self._create_replica(supervisor).run()
        except ReplicaEnded as end:
            report = end.report
        except Exception as error:
            report = describe_internal_error(error)
        report = self._mask_report(report)
        notice = self._stop_signal.notice
        self._state.update(
            exit=report,
            program_ended_at=supervisor.program_ended_at,
            bad_since=None if report.health is None else report.health.bad_since,
            is_stopped_early=notice is not None and notice.is_early_stop and report.reason == notice.reason,
            is_output_saved=self._state.current.program_started_at is None,
        )
        return report

    def _create_supervisor(self) -> Supervisor:
        observer, config = self._observer, self._vm.config
        return Supervisor(
            Monitored(
                limits=config.limits,
                stop_signal=self._stop_signal,
                last_answer_at=lambda: self._heartbeats.last_answer_at,
                disk_bytes=lambda: observer.disk.used_bytes,
                on_output=self._add_output,
                before_signal=self._outputs.files.record_signal,
                on_started=observer.watch_processes,
                gpu_faults=GpuFaults(config.gpu_count),
                find_exception=lambda: observer.health.stuck.explanation,
            )
        )

    def _create_replica(self, supervisor: Supervisor) -> Replica:
        vm, config = self._vm, self._vm.config
        manager = SecretManager(config.endpoints.secret_manager_url, vm.token, self._metadata.service_account)
        deadline = time.monotonic() + config.limits.setup_seconds
        setup = Setup(
            vm=vm,
            state=self._state,
            supervisor=supervisor,
            policy=RetryPolicy(sys.maxsize, SETUP_RETRY_SECONDS_MAX, self._stop_signal.requested, deadline),
            secrets=JobSecrets(manager, config.secrets, self._logs.mask),
            set_phase=self._heartbeats.set_phase,
            log=self._logs.log,
        )
        may_start = lambda: self._heartbeats.may_start
        return Replica(setup, self._outputs, self._observer, self._background_store, may_start)

    def _add_output(self, stream: str, block: bytes) -> None:
        self._logs.add_output(stream, block)
        self._observer.add_output(stream, block)

    def _log_interruption(self) -> None:
        interruption = self._stop_signal.interruption
        if interruption is not None:
            then = 'The program is stopped.' if interruption.is_stopping else 'The output is saved, the program goes on.'
            self._logs.log(f'{interruption.message} {then}', 'WARNING')

    def _save_output(self, report: ExitReport) -> ExitReport:
        state = self._state.current
        try:
            self._heartbeats.set_phase('UPLOADING')
            report = self._outputs.save(report, state.saved_folder, self._saving_seconds())
            if report.is_rollback:
                moment = Moment(state.bad_since, state.program_started_at or time.time())
                report = self._outputs.roll_back(report, moment, self._saving_seconds())
        except Exception as error:
            report = describe_internal_error(error)
        report = self._mask_report(report)
        self._state.update(exit=report, is_output_saved=True)
        return report

    def _saving_seconds(self) -> float:
        limits = self._vm.config.limits
        # A VM that was told to stop or has no control plane may be an orphan; it gets less time than a program that
        # has ended by itself.
        return limits.control_plane_timeout_seconds if self._state.current.is_hurried else limits.upload_seconds

    def _mask_report(self, report: ExitReport) -> ExitReport:
        """The program's lines are already masked; the agent's own texts may contain a secret, too."""
        mask = self._logs.mask
        return replace(report, message=mask(report.message), evidence=tuple(map(mask, report.evidence)))

    def _on_thread_error(self, args: threading.ExceptHookArgs) -> None:
        report = describe_internal_error(args.exc_value or RuntimeError('a thread ended without an exception'))
        self._stop_signal.request_stop(StopNotice(report.reason, f'{report.message} {report.evidence[-1]}'))


def describe_internal_error(error: BaseException) -> ExitReport:
    """Returns the exit report for an error of the agent itself, with the traceback as evidence."""
    if is_disk_full(error):
        return ExitReport('DISK_FULL', 'The disk of the VM is full.', evidence=(str(error),))
    lines = ''.join(traceback.format_exception(type(error), error, error.__traceback__)).splitlines()
    return ExitReport('AGENT_FAILED', "The VM's agent failed with an internal error.", evidence=tuple(lines))
