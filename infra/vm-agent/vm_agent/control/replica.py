"""The lifecycle of one replica: setup, program and final save, in order."""

import os
import shutil
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Callable, Dict, Mapping, Optional, Sequence, Tuple

from vm_agent.cache.environment_cache import EnvironmentCache
from vm_agent.cache.store import BackgroundStore
from vm_agent.container.engine import Engine
from vm_agent.container.pull import PullContext, RegistryAccess, pull_image
from vm_agent.container.spec import ContainerSpec
from vm_agent.container.transfer import Transfer
from vm_agent.control.config import Config
from vm_agent.control.decisions import ProgramEnd, StopNotice, describe_end
from vm_agent.control.state_file import State
from vm_agent.control.stop_signal import StopSignal
from vm_agent.control.supervisor import POLL_SECONDS, Supervisor
from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.metrics.program_metrics import READ_SECONDS, MetricPaths, ProgramMetrics
from vm_agent.paths.installer import install_path_hook
from vm_agent.program.child_process import Command
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.program.gpus import AWAIT_SECONDS_MAX, await_gpus
from vm_agent.program.unsaved_files import describe_unsaved
from vm_agent.program.usage import measure_tree
from vm_agent.setup.environment import (
    VM_MARKER,
    ProgramPaths,
    program_arguments,
    program_environment,
    tool_environment,
)
from vm_agent.setup.installation import Installer
from vm_agent.setup.installers import InstallPaths, ToolResult
from vm_agent.setup.job_secrets import JobSecrets
from vm_agent.setup.package_plan import find_import_roots, plan_packages
from vm_agent.setup.packages import download_packages
from vm_agent.setup.work_directory import create_job_dir_link, link_neighbors
from vm_agent.storage.client import Storage, StorageRejected
from vm_agent.storage.job_directory import Fenced, JobDirectory
from vm_agent.storage.manifest import Manifest
from vm_agent.storage.output_sync import OutputSync
from vm_agent.storage.restore import Restore
from vm_agent.storage.staging import STAGING_FOLDER
from vm_agent.tracking.tracking import Tracking

# How long Cloud Storage may fail during setup before another VM is tried; heartbeats extend the lease meanwhile.
SETUP_RETRY_SECONDS_MAX = 300.0
# For a warning that nothing was saved.
LIST_SECONDS_MAX = 10.0
# Installing takes the place of a cache that fails for longer.
CACHE_TRIES_MAX = 3
CACHE_RETRY_SECONDS_MAX = 10.0


@dataclass(frozen=True)
class Replica:
    """The collaborators of `run_replica` and `save_output`."""

    config: Config
    home: Path
    vm: str
    """The value of VM_MARKER, unique to this VM on this machine."""
    storage: Storage
    directory: JobDirectory
    secrets: JobSecrets
    sync: OutputSync
    supervisor: Supervisor
    background_store: BackgroundStore
    stop_signal: StopSignal
    set_phase: Callable[[str], None]
    may_start: Callable[[], bool]
    """Whether all VMs of the cluster are known to exist."""
    log: Callable[[str, str], None]
    write_state: Callable[[State], None]
    metrics: ProgramMetrics
    tracking: Tracking
    registry_access: RegistryAccess
    report_transfer: Callable[[Optional[Transfer]], None]
    """Sent with the next heartbeats."""
    started_at: float = field(default_factory=time.monotonic)

    @property
    def setup_deadline(self) -> float:
        """By time.monotonic(): after it, the control plane considers this VM lost, and a report comes too late."""
        return self.started_at + self.config.limits.setup_seconds

    @property
    def retry_policy(self) -> RetryPolicy:
        """For requests during setup."""
        return RetryPolicy(sys.maxsize, SETUP_RETRY_SECONDS_MAX, self.stop_signal.requested, self.setup_deadline)

    @property
    def output(self) -> Path:
        return self.home / 'output'


def run_replica(replica: Replica, state: State) -> ExitReport:
    """
    Runs the program to its end, and continues where a reboot interrupted. Raises ReplicaEnded if the program was never
    started.
    """
    replica.output.mkdir(parents=True, exist_ok=True)
    state, secrets = _set_up(replica, state)
    if state.program_started_at is None:
        _await_cluster(replica)
    if replica.config.spec.saves_output:
        replica.sync.start(replica.config.intervals.sync_seconds, lambda fenced: _on_fenced(replica, fenced))
    replica.supervisor.check()
    started_at = state.program_started_at or time.time()
    is_continued = state.program_started_at is not None
    intervals = replica.config.intervals
    replica.metrics.start(started_at, is_continued, intervals.sync_seconds)
    replica.metrics.follow(min(READ_SECONDS, intervals.heartbeat_seconds))
    state = replace(state, program_started_at=started_at)
    replica.write_state(state)
    end = _run_program(replica, state, secrets)
    return describe_end(end)


def save_output(replica: Replica, report: ExitReport, seconds_max: float) -> ExitReport:
    """Uploads the rest of the output. Returns the report, in which a success becomes a failure if this failed."""
    if not replica.config.spec.saves_output:
        return report
    replica.set_phase('UPLOADING')
    try:
        policy = RetryPolicy(tries_max=sys.maxsize, seconds_max=seconds_max)
        problems = replica.sync.finish(policy, was_killed=report.signal is not None)
    except Fenced as fenced:
        return ExitReport('STOPPED', str(fenced), report.exit_code, report.signal)
    if not problems:
        return replace(report, saved_nothing=report.is_success and not _has_files(replica))
    message = f'{report.message} The output could not be saved: {problems[0]}'
    if report.is_success:
        return replace(report, reason='JOB_DIR_UNWRITABLE', message=message, evidence=problems)
    return replace(report, message=message)


def _has_files(replica: Replica) -> bool:
    """Whether the job directory has a file of the program; True if that is unknown."""
    try:
        return replica.directory.has_files(RetryPolicy(tries_max=3, seconds_max=LIST_SECONDS_MAX))
    except (TransientError, StorageRejected):
        return True


def _on_fenced(replica: Replica, fenced: Fenced) -> None:
    replica.stop_signal.request_stop(StopNotice('STOPPED', str(fenced)))


def _set_up(replica: Replica, state: State) -> Tuple[State, Mapping[str, str]]:
    """Prepares everything before the program's start; returns the job's secrets, which are never on a disk."""
    try:
        claimed = _claim(replica)
        _check_gpus(replica)
        secrets = _read_secrets(replica)
        return _restore(replica, _install(replica, state, secrets), claimed), secrets
    except TransientError as error:
        # Raised when a stop cancels retries, too: then the reason to stop counts.
        replica.supervisor.check()
        message = 'Cloud Storage or Secret Manager was unreachable while the VM was being set up.'
        raise ReplicaEnded(ExitReport('SERVICE_UNREACHABLE', message, evidence=(str(error),))) from error


def _await_cluster(replica: Replica) -> None:
    """Returns when the program may start: immediately for a single replica. Raises ReplicaEnded."""
    if replica.may_start():
        return
    replica.set_phase('WAITING')
    while not replica.may_start():
        replica.stop_signal.wait(POLL_SECONDS)
        replica.supervisor.check()
        if time.monotonic() > replica.setup_deadline:
            # The control plane gives up long before: it has answered WAIT indefinitely, which is a defect.
            message = 'The other VMs of the cluster were not confirmed to exist before the setup time was over.'
            raise ReplicaEnded(ExitReport('STOPPED', message))


def _claim(replica: Replica) -> Manifest:
    """Claims the job directory, which shows that it can be written before anything is run for it."""
    directory, policy, spec = replica.directory, replica.retry_policy, replica.config.spec
    try:
        return directory.claim(policy) if spec.saves_output else directory.read_manifest(policy)
    except Fenced as fenced:
        raise ReplicaEnded(ExitReport('STOPPED', str(fenced))) from fenced
    except StorageRejected as error:
        replica.supervisor.check()
        message = f'The job directory {spec.job_dir} cannot be used.'
        raise ReplicaEnded(ExitReport('JOB_DIR_UNWRITABLE', message, evidence=(str(error),))) from error


def _check_gpus(replica: Replica) -> None:
    """Checked before anything is downloaded, and again after a reboot."""

    def wait(seconds: float) -> None:
        replica.stop_signal.wait(seconds)
        replica.supervisor.check()

    seconds_left = max(0.0, replica.setup_deadline - time.monotonic())
    report = await_gpus(replica.config.gpu_count, wait, min(AWAIT_SECONDS_MAX, seconds_left / 2))
    if report is not None:
        raise ReplicaEnded(report)


def _read_secrets(replica: Replica) -> Dict[str, str]:
    """Reads the secrets first, so that nothing is downloaded in vain, and again after a reboot."""
    try:
        return replica.secrets.read(replica.retry_policy)
    except ReplicaEnded:
        # A reason to stop takes precedence.
        replica.supervisor.check()
        raise


def _install(replica: Replica, state: State, secrets: Mapping[str, str]) -> State:
    if state.import_roots is not None:
        return state
    replica.set_phase('DOWNLOADING')
    try:
        archives = download_packages(
            replica.storage, replica.config.packages, replica.home / 'packages', replica.retry_policy
        )
    except ReplicaEnded:
        # A reason to stop takes precedence.
        replica.supervisor.check()
        raise
    replica.supervisor.check()
    replica.set_phase('INSTALLING')
    environment = {**tool_environment(os.environ, _program_paths(replica, ()), replica.vm), **secrets}
    paths = InstallPaths(replica.home / 'venv', environment)

    def run_tool(argv: Sequence[str]) -> ToolResult:
        return replica.supervisor.run_tool(_command(replica, argv, environment, replica.home))

    module = replica.config.spec.module
    plan = plan_packages(archives, replica.home / 'sources', module)
    installed = Installer(paths, run_tool, _environment_cache(replica), replica.log).install(plan)
    if installed.store is not None:
        replica.background_store.start(installed.store, installed.seconds)
    roots, folder = find_import_roots(plan, module, paths.python), plan.program.working_directory
    state = replace(
        state,
        import_roots=tuple(str(root) for root in roots),
        script=plan.program.script,
        working_directory=None if folder is None else str(folder),
    )
    replica.write_state(state)
    return state


def _pull(replica: Replica, engine: Engine, spec: ContainerSpec) -> None:
    replica.set_phase('PULLING')

    def run(argv: Sequence[str], environment: Mapping[str, str]) -> ToolResult:
        return replica.supervisor.run_tool(_command(replica, argv, environment, replica.home))

    context = PullContext(
        folder=replica.home,
        policy=replica.retry_policy,
        run=run,
        check=replica.supervisor.check,
        access=replica.registry_access,
        mask=replica.secrets.mask,
        report=replica.report_transfer,
        log=replica.log,
    )
    try:
        pull_image(engine, spec, context)
    finally:
        replica.report_transfer(None)


def _environment_cache(replica: Replica) -> Optional[EnvironmentCache]:
    location = replica.config.environment_cache
    if location is None:
        return None
    return EnvironmentCache(
        storage=replica.storage,
        location=location,
        author=replica.directory.author,
        may_store=replica.config.spec.saves_output,
        policy=replace(replica.retry_policy, tries_max=CACHE_TRIES_MAX, seconds_max=CACHE_RETRY_SECONDS_MAX),
        log=replica.log,
    )


def _restore(replica: Replica, state: State, claimed: Manifest) -> State:
    """Restores the output of earlier attempts. After a reboot, the local files are newer than the bucket's and stay."""
    if state.is_restored:
        replica.sync.record_committed(claimed.files)
        return state
    try:
        bytes_max = _measure_space(replica)
        restored = Restore(replica.directory, replica.output, bytes_max, replica.retry_policy, replica.log).run(claimed)
    except StorageRejected as error:
        replica.supervisor.check()
        message = f'The job directory {replica.config.spec.job_dir} cannot be read.'
        raise ReplicaEnded(ExitReport('JOB_DIR_UNWRITABLE', message, evidence=(str(error),))) from error
    replica.sync.record_restored(restored)
    state = replace(state, is_restored=True)
    replica.write_state(state)
    return state


def _measure_space(replica: Replica) -> int:
    """Returns the bytes that may be written: within the job's limit and the free space, which the image shares."""
    allowed_bytes = replica.config.limits.disk_bytes_max - measure_tree(replica.home, replica.home / STAGING_FOLDER)
    return min(allowed_bytes, shutil.disk_usage(replica.output).free)


def _run_program(replica: Replica, state: State, secrets: Mapping[str, str]) -> ProgramEnd:
    spec = replica.config.spec
    ran_seconds = max(0.0, time.time() - (state.program_started_at or time.time()))
    paths = _program_paths(replica, state.import_roots or ())
    folder = _work_directory(replica, state)
    create_job_dir_link(folder, spec.job_dir, replica.output)
    install_path_hook(replica.home / 'venv', spec.job_dir, replica.output, replica.home / 'objects')
    for file in (paths.metrics_file, paths.hypertune_file):
        file.parent.mkdir(parents=True, exist_ok=True)
    tools = {**tool_environment(os.environ, paths, replica.vm), **secrets}
    replica.tracking.start()
    own = {**spec.environment, **secrets}
    environment = replica.tracking.add_variables(program_environment(spec, paths, tools), own)
    target = ['-m', spec.module] if state.script is None else [state.script]
    argv = [*_nice(replica.config.nice), str(paths.python), *target, *program_arguments(spec)]
    replica.set_phase('RUNNING')
    end = replica.supervisor.run_program(_command(replica, argv, environment, folder), ran_seconds)
    unsaved = describe_unsaved(folder, state.program_started_at or time.time())
    if unsaved is not None:
        replica.log(unsaved, 'WARNING')
    return end


def _work_directory(replica: Replica, state: State) -> Path:
    """Returns the directory of the program's package, or an empty one if the program is installed."""
    if state.working_directory is None:
        folder = replica.home / 'work'
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder
    folder = Path(state.working_directory)
    if state.script is not None:
        link_neighbors(folder / state.script, folder)
    return folder


def _nice(increment: int) -> Sequence[str]:
    """Returns the command prefix that raises a program's niceness; `nice` replaces itself with the program."""
    return [shutil.which('nice') or '/usr/bin/nice', '-n', str(increment)] if increment > 0 else []


def _program_paths(replica: Replica, import_roots: Tuple[str, ...]) -> ProgramPaths:
    home, metric_paths = replica.home, MetricPaths(replica.home)
    return ProgramPaths(
        python=home / 'venv' / 'bin' / 'python',
        output=replica.output,
        metrics_file=metric_paths.metrics_file,
        hypertune_file=metric_paths.hypertune_file,
        import_roots=import_roots,
    )


def _command(replica: Replica, argv: Sequence[str], environment: Mapping[str, str], folder: Path) -> Command:
    return Command(argv, environment, folder, f'{VM_MARKER}={replica.vm}'.encode(), replica.secrets.mask)
