"""The files of the job directory: restored before the program runs, saved while it runs and after its end."""

import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Callable, Optional, Tuple, Union

from vm_agent.control.launcher import Setup
from vm_agent.control.observer import Observer
from vm_agent.control.output_findings import OutputFindings
from vm_agent.control.supervisor import Supervisor
from vm_agent.control.vm import Vm
from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.program.foreign_files import has_link
from vm_agent.program.saved_uris import find_output_arguments, is_outside
from vm_agent.program.usage import measure_tree
from vm_agent.storage.cluster.member import Member
from vm_agent.storage.cluster.output_sync import OutputSync
from vm_agent.storage.cluster.peers import Peers
from vm_agent.storage.cluster.rounds import Rounds
from vm_agent.storage.directory.job_directory import Fenced
from vm_agent.storage.directory.manifest import Manifest
from vm_agent.storage.output.local_files import MASTER, LocalFiles
from vm_agent.storage.output.output_rule import OutputRule
from vm_agent.storage.output.output_tree import OutputTree
from vm_agent.storage.output.staging import Staging
from vm_agent.storage.output.work_folder import WorkFolder, read_baseline
from vm_agent.storage.restore.earlier_save import EarlierSave
from vm_agent.storage.restore.restore import Restore
from vm_agent.storage.restore.rollback import ROLLED_BACK_PREFIX, Moment, Rollback
from vm_agent.storage.transfer.client import END_KEY, SUCCESS_KEY, StorageRejected

BASELINE_FILE = 'workdir-baseline.json'
RESTORED_FILE = 'restored.json'
# For a warning that nothing was saved.
LIST_SECONDS_MAX = 10.0


class Outputs:
    """Every replica saves what its program writes, and restores what all have saved: the master commits it."""

    def __init__(
        self, vm: Vm, observer: Observer, secret: Callable[[], str], log: Callable[[str, str], None]
    ) -> None:
        """`secret` returns that of the attempt, with which the agents of a cluster speak to each other."""
        self._vm = vm
        self._log = log
        self._disk = observer.disk
        self._findings = OutputFindings(observer.health.monitor.record)
        self.tree = OutputTree(vm.output)
        staging = Staging(vm.staging, self.tree, self._staging_bytes)
        self.files = LocalFiles(vm.directory, self.tree, staging, log)
        self.files.replica = vm.config.spec.name
        self.files.on_unsaved(self._findings.add_unsaved)
        self.files.report_uncommitted = self._findings.add_uncommitted
        self._is_open = False
        self.sync = self._open_sync(observer, secret, log)

    def _open_sync(
        self, observer: Observer, secret: Callable[[], str], log: Callable[[str, str], None]
    ) -> Union[OutputSync, Member]:
        vm, peers = self._vm, self._vm.config.peers
        if peers is not None and not vm.config.spec.is_master:
            return Member(vm.directory, self.files, peers.address, secret)
        names = () if peers is None else tuple(name for name in peers.replicas if name != MASTER)
        port = 0 if peers is None else int(peers.address.rpartition(':')[2])
        others = Peers(names, port, secret, log)
        rounds = Rounds(vm.directory, self.files, others)
        rounds.bytes_max = 0 if peers is None else vm.config.limits.disk_bytes_max
        rounds.count_reports = observer.metrics.count_reports
        return OutputSync(self.files, rounds, others)

    def claim(self, setup: Setup) -> Manifest:
        """Claims the job directory, which shows that it can be written before anything is run for it."""
        directory, is_master = self._vm.directory, self._vm.config.spec.is_master
        earlier = EarlierSave(directory, setup.policy, setup.supervisor.wait, self._log)
        try:
            if not is_master:
                earlier.wait_for_claim()
                return directory.read_manifest(setup.policy)
            earlier.wait_for_end(self._vm.config.limits.earlier_save_seconds)
            return directory.claim(setup.policy)
        except Fenced as fenced:
            raise ReplicaEnded(ExitReport('STOPPED', str(fenced))) from fenced
        except StorageRejected as error:
            setup.supervisor.check()
            raise self._rejected('used', error) from error

    def restore(self, setup: Setup, claimed: Manifest) -> None:
        """
        Restores the output of earlier attempts. After a reboot, the local files are newer than the bucket's and stay.
        """
        state = setup.state
        if state.current.is_restored:
            self._resume(claimed)
            # The files that the program saved before the reboot are on the disk.
            state.update(has_restored=state.current.has_restored or bool(claimed.files))
            return
        try:
            directory, space = self._vm.directory, self._measure_space()
            is_cluster = self._vm.config.peers is not None
            restore = Restore(directory, self.tree, space, setup.policy, self._log, self.files.replica, is_cluster)
            restored = restore.run(claimed)
        except StorageRejected as error:
            setup.supervisor.check()
            raise self._rejected('read', error) from error
        self.files.record_restored(restored, claimed)
        self.files.write_restored(self._vm.home / RESTORED_FILE)
        self._is_open = True
        self.sync.resume(claimed if restored else replace(claimed, reports={}))
        state.update(is_restored=True, has_restored=bool(restored))

    def _resume(self, manifest: Manifest) -> None:
        """Continues after a reboot from what was committed."""
        self._is_open = True
        self.files.record_reboot(manifest, self._vm.home / RESTORED_FILE)
        self.sync.resume(manifest)

    def open_folder(self, folder: Optional[Path]) -> None:
        """
        Saves the program's working directory, too, if the job has it so. Called before the program's first start, and
        at each boot.
        """
        options = self._vm.config.options
        if folder is None or not options.workdir_outputs:
            self.tree.work = None
            return
        baseline = read_baseline(folder, self._vm.home / BASELINE_FILE)
        self.tree.work = WorkFolder(folder, baseline, OutputRule(options.outputs), self._findings.add_left_out)

    def open_layer(self, layer: Path) -> Optional[WorkFolder]:
        """Returns the layer of a container, which has only what the container has written; None if it is not saved."""
        options = self._vm.config.options
        if not options.workdir_outputs:
            return None
        return WorkFolder(layer, {}, OutputRule(options.outputs), lambda left_out: None, is_layer=True)

    def start(self, supervisor: Supervisor) -> None:
        """Saves at every interval, until a later attempt has claimed the job directory: then the program is stopped."""
        interval_seconds = self._vm.config.intervals.sync_seconds
        self.sync.start(interval_seconds, lambda fenced: supervisor.request_stop(str(fenced)))

    def save(self, report: ExitReport, saved_folder: Optional[str], seconds_max: float) -> ExitReport:
        """Uploads the rest of the output. Returns the report, in which a success becomes a failure if this failed."""
        is_master = self._vm.config.spec.is_master
        try:
            policy = RetryPolicy(tries_max=sys.maxsize, seconds_max=seconds_max)
            self._reopen(saved_folder, policy)
            problems = self.sync.finish(policy, report.signal is not None, self._marks_of(report))
        except Fenced as fenced:
            return ExitReport('STOPPED', str(fenced), report.exit_code, report.signal)
        except (TransientError, StorageRejected) as error:
            problems = (str(error),)
        if not problems:
            self._findings.end()
            if not is_master:
                return report
            has_saved = self._saves_elsewhere(report) or self._has_files()
            return replace(report, saved_nothing=report.is_success and not has_saved)
        message = f'{report.message} The output could not be saved: {problems[0]}'
        if report.is_success and is_master:
            return replace(report, reason='JOB_DIR_UNWRITABLE', message=message, evidence=problems)
        return replace(report, message=message)

    def roll_back(self, report: ExitReport, moment: Moment, seconds_max: float) -> ExitReport:
        """
        Makes the next attempt restore the files of an earlier moment; the output is saved. Returns the report, by which
        the job ends if there are no such files. Repeated after a reboot, it finds the same files.
        """
        policy = RetryPolicy(tries_max=sys.maxsize, seconds_max=seconds_max)
        try:
            rolled_back = Rollback(self._vm.directory, policy).run(moment)
        except Fenced as fenced:
            return ExitReport('STOPPED', str(fenced), report.exit_code, report.signal)
        except (TransientError, StorageRejected, OSError) as error:
            return _stop(report, f'The job directory could not be changed back: {error}')
        if rolled_back is None:
            return _stop(report, 'The job directory has no complete set of files from before; it needs object versioning.')
        count, saved_at = len(rolled_back.files), rolled_back.saved_at
        what = 'no files' if saved_at is None else f'the {count} files that were saved until {_utc(saved_at)}'
        spec = self._vm.config.spec
        folder = f'{spec.job_dir}/{ROLLED_BACK_PREFIX}attempt-{spec.attempt}'
        kept = f' {len(rolled_back.kept)} newer files are kept in {folder}.' if rolled_back.kept else ''
        message = f'{report.message} Restored next: {what}.{kept}'
        self._log(message, 'WARNING')
        return replace(report, message=message)

    def _reopen(self, saved_folder: Optional[str], policy: RetryPolicy) -> None:
        """
        Finds what is to be saved in a boot that has not set up the program: it had ended before, or could not start.
        """
        if self._is_open:
            return
        # A program in a container may have left a link in its place: then what was saved stays.
        if saved_folder is not None and not has_link(self._vm.home, Path(saved_folder)):
            self.open_folder(Path(saved_folder))
        self._resume(self._vm.directory.read_manifest(policy))

    def _marks_of(self, report: ExitReport) -> Tuple[str, ...]:
        """
        Only the next attempt of a cluster awaits the end. What is rolled back next is not yet what it may restore.
        """
        if report.is_success:
            return (END_KEY, SUCCESS_KEY)
        return (END_KEY,) if self._vm.config.replica_count > 1 and not report.is_rollback else ()

    def _saves_elsewhere(self, report: ExitReport) -> bool:
        """Whether the program was told, or says, that it saves its results outside of the job directory."""
        spec = self._vm.config.spec
        return any(is_outside(uri, spec.job_dir) for uri in (*find_output_arguments(spec.args), *report.saved_uris))

    def _has_files(self) -> bool:
        """Whether the job directory has a file of the program; True if that is unknown."""
        try:
            return self._vm.directory.has_files(RetryPolicy(tries_max=3, seconds_max=LIST_SECONDS_MAX))
        except (TransientError, StorageRejected):
            return True

    def _staging_bytes(self) -> int:
        """Returns the bytes that copies of the output may take: half of what is free, so that the program has space."""
        allowed_bytes = self._vm.config.limits.disk_bytes_max - self._disk.used_bytes
        return min(allowed_bytes, shutil.disk_usage(self._vm.home).free) // 2

    def _measure_space(self) -> int:
        """Returns the bytes that may be restored: within the job's limit and the free space, which the image shares."""
        allowed_bytes = self._vm.config.limits.disk_bytes_max - measure_tree(self._vm.home, self._vm.staging)
        return min(allowed_bytes, shutil.disk_usage(self._vm.output).free)

    def _rejected(self, verb: str, error: StorageRejected) -> ReplicaEnded:
        message = f'The job directory {self._vm.config.spec.job_dir} cannot be {verb}.'
        return ReplicaEnded(ExitReport('JOB_DIR_UNWRITABLE', message, evidence=(str(error),)))


def _stop(report: ExitReport, why: str) -> ExitReport:
    assert report.health is not None
    return replace(report, message=f'{report.message} {why}', health=replace(report.health, action='stop'))


def _utc(at: float) -> str:
    return time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime(at))
