"""One replica from boot to exit report: the order of things."""

import os
import shutil
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Callable, Dict, Mapping, Sequence, Tuple

from vm_agent.config import Config
from vm_agent.decisions import ProgramEnd, describe_end
from vm_agent.environment import (
    VM_MARKER,
    Places,
    make_work_directory,
    program_arguments,
    program_environment,
    tool_environment,
)
from vm_agent.exit_report import ExitReport, ReplicaEnded
from vm_agent.installation import ToolEnd, Workplace, install
from vm_agent.job_directory import Fenced, JobDirectory
from vm_agent.job_secrets import JobSecrets
from vm_agent.mailbox import Mailbox
from vm_agent.manifest import Manifest
from vm_agent.output_sync import OutputSync
from vm_agent.packages import download_packages
from vm_agent.program import Command
from vm_agent.restore import Restore
from vm_agent.retry import PassingFault, Patience
from vm_agent.state_file import State
from vm_agent.storage import Storage, StorageRefused
from vm_agent.supervisor import TICK_SECONDS, Supervisor
from vm_agent.usage import measure_tree

# For so long Cloud Storage may give nothing before another VM is tried; heartbeats hold the lease meanwhile.
STORAGE_TROUBLE_SECONDS_MAX = 300.0


@dataclass(frozen=True)
class Replica:
    """What running it takes."""

    config: Config
    home: Path
    vm: str
    """The value of VM_MARKER: no other VM on this machine has the same."""
    storage: Storage
    directory: JobDirectory
    secrets: JobSecrets
    sync: OutputSync
    supervisor: Supervisor
    mailbox: Mailbox
    enter: Callable[[str], None]
    may_start: Callable[[], bool]
    """Whether all machines of the cluster are known to exist."""
    say: Callable[[str, str], None]
    remember: Callable[[State], None]
    began_at: float = field(default_factory=time.monotonic)

    @property
    def patience(self) -> Patience:
        """With Cloud Storage, while the VM is set up: until the last moment at which a report of it is not too late."""
        ends_at = self.began_at + self.config.limits.setup_seconds
        return Patience(sys.maxsize, STORAGE_TROUBLE_SECONDS_MAX, self.mailbox.stopping, ends_at)

    @property
    def output(self) -> Path:
        return self.home / 'output'


def run_replica(replica: Replica, state: State) -> ExitReport:
    """Brings the program to its end, whatever was done before a reboot. Raises ReplicaEnded before its start."""
    replica.output.mkdir(parents=True, exist_ok=True)
    state, secrets = _set_up(replica, state)
    if state.program_started_at is None:
        _await_cluster(replica)
    if replica.config.saves_output:
        replica.sync.start(replica.config.intervals.sync_seconds, replica.mailbox)
    replica.supervisor.check()
    started_at = state.program_started_at or time.time()
    state = replace(state, program_started_at=started_at)
    replica.remember(state)
    end = _run_program(replica, state, secrets)
    return describe_end(end)


def save_output(replica: Replica, report: ExitReport, seconds_max: float) -> ExitReport:
    """The final sync, and what the report says after it: results that are not saved are no success."""
    if not replica.config.saves_output:
        return report
    replica.enter('UPLOADING')
    try:
        problems = replica.sync.finish(Patience(tries_max=sys.maxsize, seconds_max=seconds_max))
    except Fenced as fenced:
        return ExitReport('STOPPED', str(fenced), report.exit_code, report.signal)
    if not problems:
        return report
    remark = f'{report.message} The output could not be saved: {problems[0]}'
    is_success = report.reason == 'EXITED' and report.exit_code == 0
    if is_success:
        return replace(report, reason='JOB_DIR_UNWRITABLE', message=remark, evidence=problems)
    return replace(report, message=remark)


def _set_up(replica: Replica, state: State) -> Tuple[State, Mapping[str, str]]:
    """Everything before the program's start, and the job's secrets, which no disk has. Raises ReplicaEnded."""
    try:
        claimed = _claim(replica)
        secrets = _read_secrets(replica)
        return _restore(replica, _install(replica, state, secrets), claimed), secrets
    except PassingFault as fault:
        # What was cut short by a reason to stop has that reason.
        replica.supervisor.check()
        message = 'Cloud Storage or Secret Manager could not be reached while the VM was set up.'
        raise ReplicaEnded(ExitReport('SERVICE_UNREACHABLE', message, evidence=(str(fault),))) from fault


def _await_cluster(replica: Replica) -> None:
    """Returns when the program may start: at once where it is the only one. Raises ReplicaEnded."""
    if replica.may_start():
        return
    replica.enter('WAITING')
    ends_at = replica.began_at + replica.config.limits.setup_seconds
    while not replica.may_start():
        replica.mailbox.wait(TICK_SECONDS)
        replica.supervisor.check()
        if time.monotonic() > ends_at:
            # The control plane gives up long before: it has said WAIT without end, which is a fault of its own.
            message = 'The other machines of the cluster were not known to exist when the time for setting up was over.'
            raise ReplicaEnded(ExitReport('STOPPED', message))


def _claim(replica: Replica) -> Manifest:
    """Finds out whether the job directory can be written before anything is run for it."""
    directory, patience = replica.directory, replica.patience
    try:
        return directory.claim(patience) if replica.config.saves_output else directory.read_manifest(patience)
    except Fenced as fenced:
        raise ReplicaEnded(ExitReport('STOPPED', str(fenced))) from fenced
    except StorageRefused as error:
        replica.supervisor.check()
        message = f'The job directory {replica.config.job_dir} cannot be used.'
        raise ReplicaEnded(ExitReport('JOB_DIR_UNWRITABLE', message, evidence=(str(error),))) from error


def _read_secrets(replica: Replica) -> Dict[str, str]:
    """Before anything is downloaded for nothing; after a reboot once more, for no disk has them."""
    try:
        return replica.secrets.read(replica.patience)
    except ReplicaEnded:
        # What was cut short by a reason to stop has that reason.
        replica.supervisor.check()
        raise


def _install(replica: Replica, state: State, secrets: Mapping[str, str]) -> State:
    if state.import_roots is not None:
        return state
    replica.enter('DOWNLOADING')
    try:
        archives = download_packages(
            replica.storage, replica.config.packages, replica.home / 'packages', replica.patience
        )
    except ReplicaEnded:
        # What was cut short by a reason to stop has that reason.
        replica.supervisor.check()
        raise
    replica.supervisor.check()
    replica.enter('INSTALLING')
    environment = {**tool_environment(os.environ, _places(replica, ()), replica.vm), **secrets}
    place = Workplace(replica.home / 'venv', replica.home / 'sources', environment)

    def run_tool(argv: Sequence[str]) -> ToolEnd:
        return replica.supervisor.run_tool(_command(replica, argv, environment, replica.home))

    roots = install(archives, place, run_tool)
    state = replace(state, import_roots=tuple(str(root) for root in roots))
    replica.remember(state)
    return state


def _restore(replica: Replica, state: State, claimed: Manifest) -> State:
    """On a reboot the local files are newer than the bucket's, and stay."""
    if state.is_restored:
        replica.sync.know_sealed(claimed.files)
        return state
    try:
        room_bytes = _measure_room(replica)
        restored = Restore(replica.directory, replica.output, room_bytes, replica.patience, replica.say).run(claimed)
    except StorageRefused as error:
        replica.supervisor.check()
        message = f'The job directory {replica.config.job_dir} cannot be read.'
        raise ReplicaEnded(ExitReport('JOB_DIR_UNWRITABLE', message, evidence=(str(error),))) from error
    replica.sync.know(restored)
    state = replace(state, is_restored=True)
    replica.remember(state)
    return state


def _measure_room(replica: Replica) -> int:
    """Bytes that may still be written: what the job is allowed, and what is free, for the image is on the disk, too."""
    allowed_bytes = replica.config.limits.disk_bytes_max - measure_tree(replica.home)
    return min(allowed_bytes, shutil.disk_usage(replica.output).free)


def _run_program(replica: Replica, state: State, secrets: Mapping[str, str]) -> ProgramEnd:
    ran_seconds = max(0.0, time.time() - (state.program_started_at or time.time()))
    places = _places(replica, state.import_roots or ())
    folder = replica.home / 'work'
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    make_work_directory(folder, replica.config.job_dir, replica.output)
    for file in (places.metrics_file, places.hypertune_file):
        file.parent.mkdir(parents=True, exist_ok=True)
    tools = {**tool_environment(os.environ, places, replica.vm), **secrets}
    environment = program_environment(replica.config, places, tools)
    argv = [str(places.python), '-m', replica.config.module, *program_arguments(replica.config)]
    replica.enter('RUNNING')
    return replica.supervisor.run_program(_command(replica, argv, environment, folder), ran_seconds)


def _places(replica: Replica, import_roots: Tuple[str, ...]) -> Places:
    home = replica.home
    return Places(
        python=home / 'venv' / 'bin' / 'python',
        output=replica.output,
        metrics_file=home / 'metrics' / 'metrics.jsonl',
        hypertune_file=home / 'metrics' / 'hypertune' / 'output.metrics',
        import_roots=import_roots,
    )


def _command(replica: Replica, argv: Sequence[str], environment: Mapping[str, str], folder: Path) -> Command:
    return Command(argv, environment, folder, f'{VM_MARKER}={replica.vm}'.encode(), replica.secrets.mask)
