"""Runs a Python module or script in a virtual environment on the VM."""

import os
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Mapping, Optional, Sequence, Tuple

from vm_agent.cache.environment_cache import EnvironmentCache
from vm_agent.cache.files import site_packages
from vm_agent.control.archives import download_archives
from vm_agent.control.context import Replica
from vm_agent.control.decisions import describe_end
from vm_agent.control.state_file import State
from vm_agent.metrics.program_metrics import MetricPaths
from vm_agent.paths.installer import install_path_hook
from vm_agent.paths.mlflow_installer import install_mlflow_plugin
from vm_agent.program.child_process import ChildProcess, Command
from vm_agent.program.exit_report import ExitReport
from vm_agent.setup.console_script import find_console_script
from vm_agent.setup.environment import (
    VM_MARKER,
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


class PythonLauncher:
    def install(self, replica: Replica, state: State, secrets: Mapping[str, str]) -> State:
        if state.import_roots is not None:
            return state
        archives = download_archives(replica)
        replica.set_phase('INSTALLING')
        environment = {**tool_environment(os.environ, _program_paths(replica, ()), replica.vm), **secrets}
        paths = InstallPaths(replica.home / 'venv', environment)

        def run_tool(argv: Sequence[str], *, is_logged: bool = True) -> ToolResult:
            return replica.supervisor.run_tool(_command(replica, argv, environment, replica.home), is_logged)

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

    def working_directory(self, replica: Replica, state: State) -> Path:
        """Returns the directory of the program's package, or one of its own if the program is installed."""
        folder = replica.home / 'work' if state.working_directory is None else Path(state.working_directory)
        folder.mkdir(exist_ok=True)
        workdir = replica.config.options.workdir
        if workdir:
            folder = find_workdir(folder, workdir)
        elif state.script is not None:
            link_neighbors(folder / state.script, folder)
        create_job_dir_link(folder, replica.config.spec.job_dir, replica.output)
        return folder

    def run(self, replica: Replica, state: State, secrets: Mapping[str, str]) -> ExitReport:
        spec = replica.config.spec
        paths = _program_paths(replica, state.import_roots or ())
        folder = self.working_directory(replica, state)
        install_mlflow_plugin(site_packages(replica.home / 'venv'))
        install_path_hook(replica.home / 'venv', spec.job_dir, replica.output, replica.home / 'objects')
        for file in (paths.metrics_file, paths.hypertune_file):
            file.parent.mkdir(parents=True, exist_ok=True)
        tools = {**network_variables(spec), **tool_environment(os.environ, paths, replica.vm), **secrets}
        environment = program_environment(spec, paths, tools)
        target = ['-m', spec.module] if state.script is None else [_script_from(state, folder)]
        program = list(spec.command) or [str(paths.python), *target]
        program = [*(find_console_script(paths.python, program[0], environment) or program[:1]), *program[1:]]
        missing = _find_missing(program[0], folder, environment)
        if missing is not None:
            return missing
        argv = [*_nice(replica.config.options.nice), *program, *program_arguments(spec)]
        replica.set_phase('RUNNING')
        command = _command(replica, argv, environment, folder)
        write_entry(replica.home, environment, folder)
        return describe_end(replica.supervisor.run_program(partial(ChildProcess, command), state.ran_seconds))


def _environment_cache(replica: Replica) -> Optional[EnvironmentCache]:
    location = replica.config.cached_environments
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
