"""The agent's life: one boot."""

import os
import threading
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Callable, Sequence

from vm_agent.config import Config, ConfigError, parse_config
from vm_agent.decisions import BootPlan, StopNotice, plan_boot
from vm_agent.exit_report import ExitReport, ReplicaEnded
from vm_agent.heartbeat import Heartbeats, Senses
from vm_agent.http_request import Request, explain, is_disk_full, send
from vm_agent.job_directory import JobDirectory
from vm_agent.job_secrets import JobSecrets
from vm_agent.log_entries import LogLine, write_request
from vm_agent.log_shipper import EntriesRefused, LogPolicy, LogShipper, LogsRefused, encode_batch
from vm_agent.machine_notices import explain_termination, watch_machine
from vm_agent.mailbox import Mailbox
from vm_agent.mask import Mask
from vm_agent.metadata_server import DEFAULT_HOST, Instance, MetadataMissing, MetadataServer
from vm_agent.output_sync import OutputSync
from vm_agent.processes import adopt_orphans
from vm_agent.progress import ProgressReader
from vm_agent.replica import Replica, run_replica, save_output
from vm_agent.retry import PassingFault
from vm_agent.serial_console import show
from vm_agent.secret_manager import SecretManager
from vm_agent.state_file import State, StateFile
from vm_agent.storage import Author, Storage
from vm_agent.supervisor import Supervisor, Watch
from vm_agent.tokens import CachedToken, access_token, identity_token
from vm_agent.usage import DiskMeter, UsageMeter

DEFAULT_HOME = '/var/lib/dropforge'
LOG_FLUSH_SECONDS_MAX = 10.0


def main() -> int:
    """Runs the replica to its exit report and delivers that. 0 when the control plane has answered it."""
    home = Path(os.environ.get('DROPFORGE_HOME', DEFAULT_HOME)).absolute()
    home.mkdir(parents=True, exist_ok=True)
    metadata = MetadataServer(os.environ.get('GCE_METADATA_HOST', DEFAULT_HOST))
    mailbox = Mailbox()
    mailbox.take_termination(lambda: explain_termination(metadata))
    adopt_orphans()
    try:
        config = parse_config(metadata.attribute('dropforge-config'))
        boot = Boot(config, home, metadata, mailbox)
    except (ConfigError, MetadataMissing, PassingFault) as error:
        # Nobody can be told yet: the serial console has it, and the VM powers off.
        show(f'this VM cannot begin. {error}')
        return 1
    return boot.run()


class Boot:
    """Everything that lives as long as the agent's process."""

    def __init__(self, config: Config, home: Path, metadata: MetadataServer, mailbox: Mailbox) -> None:
        self._config = config
        self._home = home
        self._metadata = metadata
        self._mailbox = mailbox
        self._instance = metadata.instance()
        self._state_file = StateFile(home / 'state.json')
        self._state = self._state_file.open_boot(config.job_id, config.attempt)
        self._token = access_token(metadata)
        self._mask = Mask()
        policy = LogPolicy(
            id_prefix=f'{self._instance.instance_id}-{self._state.boot}',
            flush_seconds=config.intervals.log_seconds,
            program_bytes_max=config.limits.log_bytes_max,
            mask=self._mask,
        )
        self._logs = LogShipper(policy, log_sender(config, self._instance, self._token))
        identity = identity_token(metadata, config.endpoints.heartbeat_audience)
        self._heartbeats = Heartbeats(config, identity, mailbox, self._logs.say)
        self._disk = DiskMeter(home)

    def run(self) -> int:
        plan = plan_boot(self._state)
        if plan == BootPlan.POWER_OFF:
            return 0
        self._start_threads()
        replica = self._make_replica()
        report = self._state.exit
        if plan == BootPlan.RUN or report is None:
            report = self._run_program(replica)
        if not self._state.is_output_saved:
            report = self._save(replica, report)
        self._logs.say(f'{report.reason}: {report.message}')
        self._logs.close(LOG_FLUSH_SECONDS_MAX, self._heartbeats.is_cut_off)
        is_delivered = self._heartbeats.deliver_exit(report)
        self._remember(replace(self._state, is_exit_delivered=is_delivered))
        return 0 if is_delivered else 1

    def _start_threads(self) -> None:
        threading.excepthook = self._report_thread_fault
        self._logs.start()
        self._logs.say(f'Boot {self._state.boot} for attempt {self._config.attempt} of job {self._config.job_id}.')
        self._disk.start()
        metrics = self._home / 'metrics'
        progress = ProgressReader(metrics / 'metrics.jsonl', metrics / 'hypertune' / 'output.metrics', self._mask)
        usage = UsageMeter(self._disk, self._config.limits.disk_bytes_max)
        self._heartbeats.start(self._state.first_sequence, Senses(usage.measure, progress.read))
        watch_machine(self._metadata, self._mailbox, self._config.limits.preemption_notice_seconds)

    def _make_replica(self) -> Replica:
        config = self._config
        storage = Storage(config.endpoints.storage_url, self._token)
        directory = JobDirectory(storage, config.job_dir, Author(config.job_id, config.attempt))
        watch = Watch(
            limits=config.limits,
            mailbox=self._mailbox,
            last_word_at=lambda: self._heartbeats.last_word_at,
            disk_bytes=lambda: self._disk.used_bytes,
            on_line=self._logs.offer_output,
        )
        return Replica(
            config=config,
            home=self._home,
            vm=f'{self._instance.instance_id}@{self._home}',
            storage=storage,
            directory=directory,
            secrets=JobSecrets(self._make_secret_manager(), config.secrets, self._mask),
            sync=OutputSync(directory, self._home / 'output', self._logs.say),
            supervisor=Supervisor(watch),
            mailbox=self._mailbox,
            enter=self._heartbeats.enter,
            may_start=lambda: self._heartbeats.may_start,
            say=self._logs.say,
            remember=self._remember,
        )

    def _make_secret_manager(self) -> SecretManager:
        url = self._config.endpoints.secret_manager_url
        return SecretManager(url, self._token, lambda: self._metadata.get('service-accounts/default/email'))

    def _run_program(self, replica: Replica) -> ExitReport:
        """Whatever happens becomes a report: a VM that ends without a word would be tried again and again."""
        try:
            report = run_replica(replica, self._state)
        except ReplicaEnded as end:
            report = end.report
        except Exception as error:
            report = describe_fault(error)
        report = self._without_secrets(report)
        has_output = self._state.program_started_at is not None
        self._remember(replace(self._state, exit=report, is_output_saved=not has_output))
        return report

    def _save(self, replica: Replica, report: ExitReport) -> ExitReport:
        limits = self._config.limits
        # Who was told to stop, or hears nothing, may be an orphan, and has less time than who has finished.
        is_stopped = report.reason in ('STOPPED', 'PREEMPTED')
        try:
            report = save_output(replica, report, limits.dead_man_seconds if is_stopped else limits.upload_seconds)
        except Exception as error:
            report = describe_fault(error)
        report = self._without_secrets(report)
        self._remember(replace(self._state, exit=report, is_output_saved=True))
        return report

    def _without_secrets(self, report: ExitReport) -> ExitReport:
        """The program's lines come masked; what the agent has put together itself may hold a value all the same."""
        evidence = tuple(self._mask(line) for line in report.evidence)
        return replace(report, message=self._mask(report.message), evidence=evidence)

    def _remember(self, state: State) -> None:
        self._state = state
        try:
            self._state_file.write(state)
        except OSError as error:
            # A full disk must not keep the report from being delivered; a reboot would only do more than it need.
            self._logs.say(f'The state could not be written: {error}', 'ERROR')

    def _report_thread_fault(self, fault: threading.ExceptHookArgs) -> None:
        report = describe_fault(fault.exc_value or RuntimeError('a thread ended'))
        self._mailbox.post(StopNotice(report.reason, f'{report.message} {report.evidence[-1]}'))


def log_sender(config: Config, instance: Instance, token: CachedToken) -> Callable[[Sequence[LogLine]], None]:
    """Delivers a batch to Cloud Logging's `entries:write`."""

    def deliver(lines: Sequence[LogLine]) -> None:
        headers = {'Authorization': token.bearer(), 'Content-Type': 'application/json'}
        body = encode_batch(write_request(config, instance, lines))
        response = send(Request('POST', f'{config.endpoints.logging_url}/v2/entries:write', headers, body))
        if response.status == 401:
            token.forget()
            raise PassingFault('Cloud Logging did not accept the access token.')
        if response.status == 400:
            raise EntriesRefused(f'{response.status} {explain(response)}')
        if response.status != 200:
            raise LogsRefused(f'{response.status} {explain(response)}')

    return deliver


def describe_fault(error: BaseException) -> ExitReport:
    """A fault of the agent's own, with the place where it happened."""
    if is_disk_full(error):
        return ExitReport('DISK_FULL', 'The disk of the VM is full.', evidence=(str(error),))
    lines = ''.join(traceback.format_exception(type(error), error, error.__traceback__)).splitlines()
    return ExitReport('AGENT_FAILED', "The VM's agent failed.", evidence=tuple(lines))
