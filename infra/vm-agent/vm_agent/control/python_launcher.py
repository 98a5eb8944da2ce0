"""Runs a Python module or script in a virtual environment on the VM."""

import os
import shutil
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Mapping, Optional, Sequence

from vm_agent.cache.environment_cache import EnvironmentCache
from vm_agent.cache.files import site_packages
from vm_agent.cache.store import BackgroundStore
from vm_agent.control.decisions import describe_end
from vm_agent.control.launcher import Setup
from vm_agent.control.state_file import State
from vm_agent.metrics.program_metrics import MetricPaths
from vm_agent.paths.installer import install_path_hook
from vm_agent.paths.mlflow_installer import install_mlflow_plugin
from vm_agent.program.child_process import ChildProcess
from vm_agent.program.exit_report import ExitReport
from vm_agent.setup.console_script import find_console_script
from vm_agent.setup.environment import (
    ProgramPaths,
    network_variables,
    program_arguments,
    program_environment,
    tool_environment,
)
from vm_agent.setup.installation import Installer
from vm_agent.setup.installers import InstallPaths, ToolResult
from vm_agent.setup.package_plan import find_import_roots, plan_packages
from vm_agent.setup.work_directory import create_job_dir_link, find_workdir, link_neighbors
from vm_agent.shell.enter import write_entry

# Installing takes the place of a cache that fails for longer.
CACHE_TRIES_MAX = 3
CACHE_RETRY_SECONDS_MAX = 10.0


@dataclass(frozen=True)
class PythonLauncher:
    setup: Setup
    background_store: BackgroundStore

    def install(self, secrets: Mapping[str, str]) -> None:
        setup, vm = self.setup, self.setup.vm
        if setup.state.current.import_roots is not None:
            return
        archives = setup.download_archives()
        setup.set_phase('INSTALLING')
        environment = {**tool_environment(os.environ, self._program_paths(), vm.mark), **secrets}
        paths = InstallPaths(vm.venv, environment)

        def run_tool(argv: Sequence[str], *, is_logged: bool = True) -> ToolResult:
            return setup.supervisor.run_tool(setup.command(argv, environment, vm.home), is_logged)

        module = vm.config.spec.module
        plan = plan_packages(archives, vm.home / 'sources', module)
        installed = Installer(paths, run_tool, self._open_cache(), setup.log).install(plan)
        if installed.store is not None:
            self.background_store.start(installed.store, installed.seconds)
        roots, folder = find_import_roots(plan, module, paths.python), plan.program.working_directory
        setup.state.update(
            import_roots=tuple(str(root) for root in roots),
            script=plan.program.script,
            working_directory=None if folder is None else str(folder),
        )

    def working_directory(self) -> Path:
        """Returns the directory of the program's package, or one of its own if the program is installed."""
        vm, state = self.setup.vm, self.setup.state.current
        folder = vm.home / 'work' if state.working_directory is None else Path(state.working_directory)
        folder.mkdir(exist_ok=True)
        workdir = vm.config.options.workdir
        if workdir:
            folder = find_workdir(folder, workdir)
        elif state.script is not None:
            link_neighbors(folder / state.script, folder)
        create_job_dir_link(folder, vm.config.spec.job_dir, vm.output)
        return folder

    def run(self, secrets: Mapping[str, str], resume_arguments: Sequence[str]) -> ExitReport:
        setup, vm, state = self.setup, self.setup.vm, self.setup.state.current
        spec = vm.config.spec
        paths = self._program_paths()
        folder = self.working_directory()
        install_mlflow_plugin(site_packages(vm.venv))
        install_path_hook(vm.venv, spec.job_dir, vm.output, vm.home / 'objects', vm.config.replica_count > 1)
        for file in (paths.metrics_file, paths.hypertune_file):
            file.parent.mkdir(parents=True, exist_ok=True)
        tools = {**network_variables(spec), **tool_environment(os.environ, paths, vm.mark), **secrets}
        environment = program_environment(spec, paths, tools)
        target = ['-m', spec.module] if state.script is None else [_script_from(state, folder)]
        program = list(spec.command) or [str(paths.python), *target]
        program = [*(find_console_script(paths.python, program[0], environment) or program[:1]), *program[1:]]
        missing = _find_missing(program[0], folder, environment)
        if missing is not None:
            return missing
        arguments = program_arguments(spec, (*spec.args, *resume_arguments))
        argv = [*_nice(vm.config.options.nice), *program, *arguments]
        setup.set_phase('RUNNING')
        command = setup.command(argv, environment, folder)
        write_entry(vm.home, environment, folder)
        return describe_end(setup.supervisor.run_program(partial(ChildProcess, command), state.ran_seconds))

    def _program_paths(self) -> ProgramPaths:
        vm, metric_paths = self.setup.vm, MetricPaths(self.setup.vm.home)
        return ProgramPaths(
            python=vm.venv / 'bin' / 'python',
            output=vm.output,
            metrics_file=metric_paths.metrics_file,
            hypertune_file=metric_paths.hypertune_file,
            import_roots=self.setup.state.current.import_roots or (),
        )

    def _open_cache(self) -> Optional[EnvironmentCache]:
        vm, policy = self.setup.vm, self.setup.policy
        location = vm.config.cached_environments
        if location is None:
            return None
        return EnvironmentCache(
            storage=vm.directory.storage,
            location=location,
            author=vm.directory.author,
            may_store=vm.config.spec.is_master,
            policy=replace(policy, tries_max=CACHE_TRIES_MAX, seconds_max=CACHE_RETRY_SECONDS_MAX),
            log=self.setup.log,
        )


def _script_from(state: State, folder: Path) -> str:
    """Returns the path of the script, which is that in its package, from the working directory."""
    return os.path.relpath(Path(state.working_directory or folder) / (state.script or ''), folder)


def _find_missing(command: str, folder: Path, environment: Mapping[str, str]) -> Optional[ExitReport]:
    """Returns how the job ends if the command cannot be started, with the exit codes of shells."""
    path = folder / command if '/' in command else shutil.which(command, path=environment.get('PATH', os.defpath))
    if path is None or not os.path.exists(path):
        message = f'The command {command} was not found in the package, what it requires, and the machine image.'
        return ExitReport('EXITED', message, exit_code=127)
    if not os.access(path, os.X_OK):
        message = f'The file {command} may not be executed: write the interpreter before it, such as [bash, {command}].'
        return ExitReport('EXITED', message, exit_code=126)
    return None


def _nice(increment: int) -> Sequence[str]:
    """Returns the command prefix that raises a program's niceness; `nice` replaces itself with the program."""
    return [shutil.which('nice') or '/usr/bin/nice', '-n', str(increment)] if increment > 0 else []
