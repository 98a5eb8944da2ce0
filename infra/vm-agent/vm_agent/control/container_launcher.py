"""Runs a container: its image is pulled instead of packages being installed."""

import hashlib
import json
import os
import posixpath
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Callable, Mapping, Optional, Sequence

from vm_agent.container.engine import Engine, find_engine
from vm_agent.container.gpus import device_arguments
from vm_agent.container.image_folder import ImageFolder
from vm_agent.container.invocation import Invocation, Mount
from vm_agent.container.layout import Layout, reject_links
from vm_agent.container.not_started import find_init_failure
from vm_agent.container.packages import unpack_packages
from vm_agent.container.process import ContainerProcess, Hooks
from vm_agent.container.pull import PullContext, pull_image
from vm_agent.container.pull_space import DiskAllowance
from vm_agent.container.spec import ContainerSpec
from vm_agent.container.variables import forwarded_variables, named_files, parse_image_variables
from vm_agent.control.archives import download_archives
from vm_agent.control.context import Replica
from vm_agent.control.decisions import describe_end
from vm_agent.control.state_file import State
from vm_agent.control.supervisor import POLL_SECONDS
from vm_agent.control.work_output import open_layer
from vm_agent.program.child_process import Command
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.program.memory_limit import machine_memory_bytes, memory_limit_bytes
from vm_agent.setup.environment import VM_MARKER, network_variables, program_arguments, program_environment
from vm_agent.setup.installers import ToolResult
from vm_agent.setup.work_directory import find_workdir
from vm_agent.shell.enter import write_container_entry

# At a boot, the engine's daemon may still be starting.
ENGINE_SECONDS_MAX = 60.0
ENGINE_FILE = 'container-engine'
IMAGE_FOLDER = 'image-folder'


class ContainerLauncher:
    def __init__(self, spec: ContainerSpec) -> None:
        self._spec = spec
        self._engine: Optional[Engine] = None

    def install(self, replica: Replica, state: State, secrets: Mapping[str, str]) -> State:
        engine = self._engine = _await_engine(replica)
        replica.log(f'The container runs with docker {engine.version}.', 'INFO')
        # The embedded cloud removes the containers of a VM that it kills.
        (replica.home / ENGINE_FILE).touch()
        # The container of an earlier boot, or of an agent that was killed.
        self._take_files(replica, self._image_folder(replica, engine))
        engine.remove_containers(replica.vm)
        _pull(replica, engine, self._spec)
        if state.import_roots is not None:
            return state
        archives = download_archives(replica) if replica.config.packages else ()
        unpacked = unpack_packages(archives, replica.home / 'sources', replica.config.spec.module)
        folder = unpacked.working_directory
        state = replace(
            state,
            import_roots=tuple(str(root) for root in unpacked.import_roots),
            working_directory=None if folder is None else str(folder),
        )
        replica.write_state(state)
        return state

    def working_directory(self, replica: Replica, state: State) -> Path:
        """Returns the folder of the package, or that with the files of an earlier attempt for the image's folder."""
        options = replica.config.options
        if state.working_directory is None or options.workdir.startswith('/'):
            folder = replica.home / IMAGE_FOLDER
            folder.mkdir(exist_ok=True)
            return folder
        package = Path(state.working_directory)
        reject_links(replica.home, package / options.workdir)
        return find_workdir(package, options.workdir) if options.workdir else package

    def _image_folder(self, replica: Replica, engine: Engine) -> ImageFolder:
        path = posixpath.join('/', self._spec.working_directory, replica.config.options.workdir)
        return ImageFolder(engine, _name_of(replica), posixpath.normpath(path), replica.home / IMAGE_FOLDER)

    def _take_files(self, replica: Replica, image: ImageFolder) -> None:
        """Keeps what a container that has ended has written to its folder of the image."""
        layer, tree = image.find_layer(), replica.sync.tree
        if layer is None or not layer.is_dir():
            return
        if tree.work is None:
            # The VM has booted again.
            work = open_layer(replica, layer)
            if work is not None:
                image.take(layer, work.scan()[0])
            return
        with replica.sync.ended():
            image.take(layer, tree.work.scan()[0])
            tree.work = tree.work.at(image.folder)

    def _open_layer(self, replica: Replica, image: ImageFolder) -> None:
        """From now on, what the container writes to its folder of the image is saved from its layer."""
        work = replica.sync.tree.work
        if work is None:
            return
        image.fill()
        layer = image.find_layer()
        if layer is None:
            replica.sync.tree.work = None
            replica.log(
                'What the program writes to its folder of the image is not saved, since the engine keeps it where it cannot '
                'be read, or since it is the root. Write results to the directory in DROPFORGE_OUTPUT_DIR.',
                'WARNING',
            )
        else:
            replica.sync.tree.work = work.at(layer, is_layer=True)
            replica.metrics.read_below(layer)

    def run(self, replica: Replica, state: State, secrets: Mapping[str, str]) -> ExitReport:
        engine = self._engine
        assert engine is not None
        image, folder = self._image_folder(replica, engine), self.working_directory(replica, state)
        layout = Layout(
            home=replica.home,
            job_dir=replica.config.spec.job_dir,
            import_roots=state.import_roots or (),
            package=None if folder == image.folder else folder,
            image_folder=image.path,
        )
        layout.prepare()
        invocation = self._invoke(replica, engine, layout, self._variables(replica, engine, layout, secrets))
        hooks = Hooks()
        if layout.package is None:
            hooks = Hooks(partial(self._open_layer, replica, image), partial(self._take_files, replica, image))
        start = partial(_start, replica, engine, invocation, hooks)
        write_container_entry(replica.home, engine, invocation)
        replica.set_phase('RUNNING')
        end = replica.supervisor.run_program(start, state.ran_seconds)
        failure = find_init_failure(invocation, end.return_code, end.stderr) if end.notice is None else None
        return failure or describe_end(end)

    def _variables(
        self, replica: Replica, engine: Engine, layout: Layout, secrets: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Returns what the container has in addition to the image's own variables."""
        spec = replica.config.spec
        shown = engine.run_tool(['image', 'inspect', '--format', '{{json .Config.Env}}', self._spec.image])
        image = parse_image_variables(json.loads(shown.stdout or 'null') or ())
        tools = {
            'PYTHONUNBUFFERED': '1',
            **network_variables(spec),
            **image,
            **forwarded_variables(os.environ),
            # tini signals the program's process group, as the agent does without a container.
            'TINI_KILL_PROCESS_GROUP': '1',
            VM_MARKER: replica.vm,
            **secrets,
        }
        variables = program_environment(spec, layout.program_paths(), tools)
        removed = {name: '' for name in image if name not in variables}
        return {**{name: value for name, value in variables.items() if image.get(name) != value}, **removed}

    def _invoke(self, replica: Replica, engine: Engine, layout: Layout, variables: Mapping[str, str]) -> Invocation:
        # With the arguments to resume, unlike the one that was installed.
        config, spec = replica.config, replica.config.container or self._spec
        files = named_files(forwarded_variables(os.environ))
        return Invocation(
            name=_name_of(replica),
            vm=replica.vm,
            image=spec.image,
            argv=program_arguments(replace(config.spec, args=spec.argv)),
            variables=variables,
            mounts=[*layout.mounts(), *(Mount(path, str(path), is_read_only=True) for path in files)],
            working_directory=layout.working_directory,
            user=_user(engine),
            # Data loaders pass batches through it; the engines' default is 64 MB.
            shm_bytes=machine_memory_bytes() // 2,
            memory_bytes=memory_limit_bytes(),
            nice=config.options.nice,
            devices=device_arguments(engine, config.gpu_count),
        )


def _start(
    replica: Replica,
    engine: Engine,
    invocation: Invocation,
    hooks: Hooks,
    on_output: Callable[[str, bytes], None],
    on_exit: Callable[[], None],
) -> ContainerProcess:
    process = ContainerProcess(
        engine,
        invocation,
        replica.secrets.mask,
        on_output=on_output,
        on_exit=on_exit,
        check=replica.supervisor.check,
        hooks=hooks,
    )
    replica.disk.add(engine.measure_layer(invocation.name))
    return process


def _name_of(replica: Replica) -> str:
    """Returns the name of the VM's container."""
    return f'dropforge-{hashlib.sha256(replica.vm.encode()).hexdigest()[:16]}'


def _await_engine(replica: Replica) -> Engine:
    """Raises ReplicaEnded if the machine has no engine that answers."""
    give_up_at = time.monotonic() + ENGINE_SECONDS_MAX
    while True:
        engine = find_engine(os.environ)
        if engine is not None:
            return replace(engine, folder=replica.home)
        replica.supervisor.check()
        if time.monotonic() > give_up_at:
            message = (
                'The machine has no `docker` command with an engine that answers. Use a machine image with Docker; in the '
                'embedded cloud, install Docker, or podman-docker beside Podman, and start its daemon.'
            )
            raise ReplicaEnded(ExitReport('CONTAINER_NOT_STARTED', message))
        replica.stop_signal.wait(POLL_SECONDS)


def _user(engine: Engine) -> Optional[str]:
    """
    The image's user if the agent is root. Another agent could not delete the files of that user: the program then has
    the agent's user.
    """
    if os.getuid() == 0:
        return None
    return '0:0' if engine.is_rootless() else f'{os.getuid()}:{os.getgid()}'


def _pull(replica: Replica, engine: Engine, spec: ContainerSpec) -> None:
    replica.set_phase('PULLING')
    marker = f'{VM_MARKER}={replica.vm}'.encode()

    def run(argv: Sequence[str], environment: Mapping[str, str]) -> ToolResult:
        return replica.supervisor.run_tool(Command(argv, environment, replica.home, marker, replica.secrets.mask))

    limits = replica.config.limits
    context = PullContext(
        folder=replica.home,
        policy=replica.retry_policy,
        run=run,
        disk=DiskAllowance(
            bytes_left=lambda: limits.disk_bytes_max - replica.disk.used_bytes,
            remedy=limits.disk_remedy,
            is_own_disk=limits.disk_setting == 'bootDiskSizeGb',
        ),
        check=replica.supervisor.check,
        access=replica.registry_access,
        mask=replica.secrets.mask,
        log=replica.log,
    )
    pull_image(engine, spec, context)
