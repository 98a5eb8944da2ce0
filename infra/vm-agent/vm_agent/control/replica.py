"""The lifecycle of one replica: setup, program and final save, in order."""

import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Dict, Mapping, Optional, Tuple

from vm_agent.control.container_launcher import ContainerLauncher
from vm_agent.control.context import Launcher, Replica
from vm_agent.control.decisions import StopNotice
from vm_agent.control.earlier_save import await_earlier_save
from vm_agent.control.python_launcher import PythonLauncher
from vm_agent.control.roll_back import is_rollback
from vm_agent.control.state_file import State
from vm_agent.control.supervisor import POLL_SECONDS
from vm_agent.control.work_output import open_work_folder
from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.metrics.program_metrics import READ_SECONDS
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.program.foreign_files import has_link
from vm_agent.program.gpus import AWAIT_SECONDS_MAX, await_gpus
from vm_agent.program.saved_uris import find_output_arguments, is_outside
from vm_agent.program.usage import measure_tree
from vm_agent.storage.directory.job_directory import Fenced
from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.output.staging import STAGING_FOLDER
from vm_agent.storage.restore.restore import Restore
from vm_agent.storage.transfer.client import END_KEY, SUCCESS_KEY, StorageRejected

# For a warning that nothing was saved.
LIST_SECONDS_MAX = 10.0


def run_replica(replica: Replica, state: State) -> ExitReport:
    """
    Runs the program to its end, and continues where a reboot interrupted. Raises ReplicaEnded if the program was never
    started.
    """
    replica.output.mkdir(parents=True, exist_ok=True)
    launcher = _find_launcher(replica)
    state, secrets = _set_up(replica, launcher, state)
    if state.program_started_at is None:
        _await_cluster(replica)
    if replica.config.spec.saves_output:
        replica.sync.start(replica.config.intervals.sync_seconds, lambda fenced: _on_fenced(replica, fenced))
    replica.supervisor.check()
    started_at = state.program_started_at or time.time()
    is_continued = state.program_started_at is not None
    intervals = replica.config.intervals
    if state.saved_folder is not None:
        replica.metrics.read_below(Path(state.saved_folder))
    replica.metrics.continue_counts(replica.sync.reports)
    replica.metrics.start(started_at, is_continued, intervals.sync_seconds)
    replica.metrics.follow(min(READ_SECONDS, intervals.heartbeat_seconds))
    for note in replica.config.notes:
        replica.log(note, 'WARNING')
    state = replace(state, program_started_at=started_at)
    replica.write_state(state)
    return launcher.run(_with_resume_arguments(replica, state), state, secrets)


def _with_resume_arguments(replica: Replica, state: State) -> Replica:
    """Adds the arguments with which the program continues from files that an earlier attempt has saved."""
    config = replica.config
    words = config.options.resume_arguments if state.has_restored else ()
    container = config.container and replace(config.container, argv=(*config.container.argv, *words))
    spec = replace(config.spec, args=(*config.spec.args, *words))
    return replace(replica, config=replace(config, spec=spec, container=container))


def _find_launcher(replica: Replica) -> Launcher:
    container = replica.config.container
    return PythonLauncher() if container is None else ContainerLauncher(container)


def save_output(replica: Replica, state: State, report: ExitReport, seconds_max: float) -> ExitReport:
    """Uploads the rest of the output. Returns the report, in which a success becomes a failure if this failed."""
    if not replica.config.spec.saves_output:
        return report
    replica.set_phase('UPLOADING')
    try:
        policy = RetryPolicy(tries_max=sys.maxsize, seconds_max=seconds_max)
        was_killed = report.signal is not None
        _reopen_output(replica, state, policy)
        problems = replica.sync.finish(policy, was_killed, _marks_of(replica, report))
    except Fenced as fenced:
        return ExitReport('STOPPED', str(fenced), report.exit_code, report.signal)
    except (TransientError, StorageRejected) as error:
        problems = (str(error),)
    if not problems:
        replica.findings.end()
        has_saved = _saves_elsewhere(replica, report) or _has_files(replica)
        return replace(report, saved_nothing=report.is_success and not has_saved)
    message = f'{report.message} The output could not be saved: {problems[0]}'
    if report.is_success:
        return replace(report, reason='JOB_DIR_UNWRITABLE', message=message, evidence=problems)
    return replace(report, message=message)


def _marks_of(replica: Replica, report: ExitReport) -> Tuple[str, ...]:
    """Only the next attempt of a cluster awaits the end. What is rolled back next is not yet what it may restore."""
    if report.is_success:
        return (END_KEY, SUCCESS_KEY)
    return (END_KEY,) if replica.config.replica_count > 1 and not is_rollback(report) else ()


def _reopen_output(replica: Replica, state: State, policy: RetryPolicy) -> None:
    """Finds what is to be saved in a boot that has not set up the program: it had ended before, or could not start."""
    sync, folder = replica.sync, None if state.saved_folder is None else Path(state.saved_folder)
    if sync.knows_manifest:
        return
    # A program in a container may have left a link in its place: then what was saved stays.
    if folder is not None and not has_link(replica.home, folder):
        sync.tree.work = open_work_folder(replica, folder)
    sync.record_committed(replica.directory.read_manifest(policy))


def _saves_elsewhere(replica: Replica, report: ExitReport) -> bool:
    """Whether the program was told, or says, that it saves its results outside of the job directory."""
    spec = replica.config.spec
    return any(is_outside(uri, spec.job_dir) for uri in (*find_output_arguments(spec.args), *report.saved_uris))


def _has_files(replica: Replica) -> bool:
    """Whether the job directory has a file of the program; True if that is unknown."""
    try:
        return replica.directory.has_files(RetryPolicy(tries_max=3, seconds_max=LIST_SECONDS_MAX))
    except (TransientError, StorageRejected):
        return True


def _on_fenced(replica: Replica, fenced: Fenced) -> None:
    replica.stop_signal.request_stop(StopNotice('STOPPED', str(fenced)))


def _set_up(replica: Replica, launcher: Launcher, state: State) -> Tuple[State, Mapping[str, str]]:
    """Prepares everything before the program's start; returns the job's secrets, which are never on a disk."""
    try:
        claimed = _claim(replica)
        _check_gpus(replica)
        secrets = _read_secrets(replica)
        state = launcher.install(replica, state, secrets)
        folder = launcher.working_directory(replica, state)
        replica.sync.tree.work = open_work_folder(replica, folder)
        state = replace(state, saved_folder=None if folder is None else str(folder))
        replica.write_state(state)
        return _restore(replica, state, claimed), secrets
    except ReplicaEnded as ended:
        raise ReplicaEnded(_confirm_host(replica, ended.report)) from ended
    except TransientError as error:
        # Raised when a stop cancels retries, too: then the reason to stop counts.
        replica.supervisor.check()
        message = 'Cloud Storage or Secret Manager was unreachable while the VM was being set up.'
        raise ReplicaEnded(ExitReport('SERVICE_UNREACHABLE', message, evidence=(str(error),))) from error


def _confirm_host(replica: Replica, report: ExitReport) -> ExitReport:
    """Adds whether Cloud Storage answers this VM: if not, its network is at fault, and not the connection to one host."""
    if report.unreachable_host is None:
        return report
    try:
        replica.directory.read_manifest(RetryPolicy(tries_max=1, seconds_max=LIST_SECONDS_MAX))
    except (TransientError, StorageRejected) as error:
        return replace(report, unreachable_host=None, evidence=(*report.evidence, str(error)))
    note = f'Cloud Storage answered this VM, and {report.unreachable_host} did not.'
    return replace(report, evidence=(*report.evidence, note))


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
        await_earlier_save(replica)
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
    report = await_gpus(replica.supervisor.gpu_faults, wait, min(AWAIT_SECONDS_MAX, seconds_left / 2))
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


def _restore(replica: Replica, state: State, claimed: Manifest) -> State:
    """Restores the output of earlier attempts. After a reboot, the local files are newer than the bucket's and stay."""
    if state.is_restored:
        replica.sync.record_committed(claimed)
        # The files that the program saved before the reboot are on the disk.
        return replace(state, has_restored=state.has_restored or bool(claimed.files))
    try:
        tree, bytes_max = replica.sync.tree, _measure_space(replica)
        restored = Restore(replica.directory, tree, bytes_max, replica.retry_policy, replica.log).run(claimed)
    except StorageRejected as error:
        replica.supervisor.check()
        message = f'The job directory {replica.config.spec.job_dir} cannot be read.'
        raise ReplicaEnded(ExitReport('JOB_DIR_UNWRITABLE', message, evidence=(str(error),))) from error
    held = {name: info for name, info in claimed.files.items() if not tree.has_place(name)}
    replica.sync.record_restored(restored, held)
    replica.sync.reports = claimed.reports if restored else {}
    state = replace(state, is_restored=True, has_restored=bool(restored))
    replica.write_state(state)
    return state


def _measure_space(replica: Replica) -> int:
    """Returns the bytes that may be written: within the job's limit and the free space, which the image shares."""
    allowed_bytes = replica.config.limits.disk_bytes_max - measure_tree(replica.home, replica.home / STAGING_FOLDER)
    return min(allowed_bytes, shutil.disk_usage(replica.output).free)


