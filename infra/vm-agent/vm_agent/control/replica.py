"""The lifecycle of one replica until its program has ended: setup and program, in order."""

import time
from dataclasses import dataclass, replace
from typing import Callable, Dict, Mapping

from vm_agent.cache.store import BackgroundStore
from vm_agent.control.container_launcher import ContainerLauncher
from vm_agent.control.launcher import Launcher, Setup
from vm_agent.control.observer import Observer
from vm_agent.control.outputs import LIST_SECONDS_MAX, Outputs
from vm_agent.control.python_launcher import PythonLauncher
from vm_agent.control.supervisor import POLL_SECONDS
from vm_agent.http.retry import RetryPolicy, TransientError
from vm_agent.paths.mount import BucketMount
from vm_agent.metrics.program_metrics import MetricPaths
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.program.gpus import AWAIT_SECONDS_MAX, await_gpus
from vm_agent.program.saved_uris import find_written_paths
from vm_agent.setup.output_access import check_outputs
from vm_agent.storage.transfer.client import StorageRejected


@dataclass(frozen=True)
class Replica:
    setup: Setup
    outputs: Outputs
    observer: Observer
    background_store: BackgroundStore
    may_start: Callable[[], bool]
    """Whether all VMs of the cluster are known to exist."""

    def run(self) -> ExitReport:
        """
        Runs the program to its end, and continues where a reboot interrupted. Raises ReplicaEnded if the program was
        never started.
        """
        setup, config, state = self.setup, self.setup.vm.config, self.setup.state
        setup.vm.output.mkdir(parents=True, exist_ok=True)
        launcher = self._find_launcher()
        secrets = self._set_up(launcher)
        if state.current.program_started_at is None:
            self._await_cluster()
        self.outputs.start(setup.supervisor)
        setup.supervisor.check()
        started_at = self.observer.start_program(state.current, self.outputs.sync.reports)
        for note in config.notes:
            setup.log(note, 'WARNING')
        state.update(program_started_at=started_at)
        variables = self.observer.metrics.progress_server.start(MetricPaths(setup.vm.home).metrics_file.parent)
        # With the arguments, the program continues from files that an earlier attempt has saved.
        resume_arguments = config.options.resume_arguments if state.current.has_restored else ()
        return launcher.run({**variables, **secrets}, resume_arguments)

    def _find_launcher(self) -> Launcher:
        container = self.setup.vm.config.container
        if container is None:
            return PythonLauncher(self.setup, self.background_store)
        return ContainerLauncher(container, self.setup, self.outputs, self.observer)

    def _set_up(self, launcher: Launcher) -> Mapping[str, str]:
        """Prepares everything before the program's start; returns the job's secrets, which are never on a disk."""
        setup = self.setup
        try:
            claimed = self.outputs.claim(setup)
            self._open_buckets()
            self._check_gpus()
            secrets = self._read_secrets()
            launcher.install(secrets)
            folder = launcher.working_directory()
            self.outputs.open_folder(folder)
            setup.state.update(saved_folder=None if folder is None else str(folder))
            self.outputs.restore(setup, claimed)
            return secrets
        except ReplicaEnded as ended:
            raise ReplicaEnded(self._confirm_host(ended.report)) from ended
        except TransientError as error:
            # Raised when a stop cancels retries, too: then the reason to stop counts.
            setup.supervisor.check()
            message = 'Cloud Storage or Secret Manager was unreachable while the VM was being set up.'
            raise ReplicaEnded(ExitReport('SERVICE_UNREACHABLE', message, evidence=(str(error),))) from error

    def _open_buckets(self) -> None:
        """Mounts the buckets if the machine can, and checks those that the program is to write to."""
        setup, vm = self.setup, self.setup.vm
        config, is_container = vm.config, vm.config.container is not None
        mount = BucketMount(
            vm.home, vm.directory.storage.url, config.spec.job_dir, vm.has_own_machine, config.replica_count > 1
        )
        is_mounted = mount.open(setup.log, is_container=is_container)
        args = config.container.argv if config.container is not None else config.spec.args
        outputs = find_written_paths((*config.spec.command, *args), config.spec.environment)
        check_outputs(outputs, config.spec.job_dir, vm.directory.storage, setup.secrets.account, is_mounted)

    def _confirm_host(self, report: ExitReport) -> ExitReport:
        """
        Adds whether Cloud Storage answers this VM: if not, its network is at fault, not the connection to one host.
        """
        if report.unreachable_host is None:
            return report
        try:
            self.setup.vm.directory.read_manifest(RetryPolicy(tries_max=1, seconds_max=LIST_SECONDS_MAX))
        except (TransientError, StorageRejected) as error:
            return replace(report, unreachable_host=None, evidence=(*report.evidence, str(error)))
        note = f'Cloud Storage answered this VM, and {report.unreachable_host} did not.'
        return replace(report, evidence=(*report.evidence, note))

    def _await_cluster(self) -> None:
        """Returns when the program may start: immediately for a single replica. Raises ReplicaEnded."""
        if self.may_start():
            return
        self.setup.set_phase('WAITING')
        while not self.may_start():
            self.setup.supervisor.wait(POLL_SECONDS)
            if time.monotonic() > self.setup.policy.deadline:
                # The control plane gives up long before: it has answered WAIT indefinitely, which is a defect.
                message = 'The other VMs of the cluster were not confirmed to exist before the setup time was over.'
                raise ReplicaEnded(ExitReport('STOPPED', message))

    def _check_gpus(self) -> None:
        """Checked before anything is downloaded, and again after a reboot."""
        supervisor = self.setup.supervisor
        seconds_left = max(0.0, self.setup.policy.deadline - time.monotonic())
        report = await_gpus(supervisor.gpu_faults, supervisor.wait, min(AWAIT_SECONDS_MAX, seconds_left / 2))
        if report is not None:
            raise ReplicaEnded(report)

    def _read_secrets(self) -> Dict[str, str]:
        """Reads the secrets first, so that nothing is downloaded in vain, and again after a reboot."""
        try:
            return self.setup.secrets.read(self.setup.policy)
        except ReplicaEnded:
            # A reason to stop takes precedence.
            self.setup.supervisor.check()
            raise
