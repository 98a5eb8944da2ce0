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
from vm_agent.container.pull import PullContext, RegistryAccess, pull_image
from vm_agent.container.pull_space import DiskAllowance
from vm_agent.container.spec import ContainerSpec
from vm_agent.container.variables import forwarded_variables, named_files, parse_image_variables
from vm_agent.control.decisions import describe_end
from vm_agent.control.launcher import Setup
from vm_agent.control.observer import Observer
from vm_agent.control.outputs import Outputs
from vm_agent.control.supervisor import POLL_SECONDS
from vm_agent.paths.mount import serves_containers
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.program.memory import machine_memory_bytes, memory_limit_bytes
from vm_agent.setup.environment import VM_MARKER, network_variables, program_arguments, program_environment
from vm_agent.setup.installers import ToolResult
from vm_agent.setup.work_directory import find_workdir
from vm_agent.shell.enter import write_container_entry

# At a boot, the engine's daemon may still be starting.
ENGINE_SECONDS_MAX = 60.0
ENGINE_FILE = 'container-engine'
IMAGE_FOLDER = 'image-folder'


class ContainerLauncher:
    def __init__(self, spec: ContainerSpec, setup: Setup, outputs: Outputs, observer: Observer) -> None:
        self._spec = spec
        self._setup = setup
        self._vm = setup.vm
        self._outputs = outputs
        self._observer = observer
        self._name = f'dropforge-{hashlib.sha256(setup.vm.mark.encode()).hexdigest()[:16]}'
        """The name of the VM's container."""
        self._engine: Optional[Engine] = None

    def install(self, secrets: Mapping[str, str]) -> None:
        setup = self._setup
        engine = self._engine = self._await_engine()
        setup.log(f'The container runs with docker {engine.version}.', 'INFO')
        # The embedded cloud removes the containers of a VM that it kills.
        (self._vm.home / ENGINE_FILE).touch()
        # The container of an earlier boot, or of an agent that was killed.
        self._take_files(self._image_folder(engine))
        engine.remove_containers(self._vm.mark)
        self._pull(engine)
        if setup.state.current.import_roots is not None:
            return
        archives = setup.download_archives() if self._vm.config.packages else ()
        unpacked = unpack_packages(archives, self._vm.home / 'sources', self._vm.config.spec.module)
        folder = unpacked.working_directory
        setup.state.update(
            import_roots=tuple(str(root) for root in unpacked.import_roots),
            working_directory=None if folder is None else str(folder),
        )

    def working_directory(self) -> Path:
        """Returns the folder of the package, or that with the files of an earlier attempt for the image's folder."""
        options, folder = self._vm.config.options, self._setup.state.current.working_directory
        if folder is None or options.workdir.startswith('/'):
            image_folder = self._vm.home / IMAGE_FOLDER
            image_folder.mkdir(exist_ok=True)
            return image_folder
        package = Path(folder)
        reject_links(self._vm.home, package / options.workdir)
        return find_workdir(package, options.workdir) if options.workdir else package

    def _image_folder(self, engine: Engine) -> ImageFolder:
        path = posixpath.join('/', self._spec.working_directory, self._vm.config.options.workdir)
        return ImageFolder(engine, self._name, posixpath.normpath(path), self._vm.home / IMAGE_FOLDER)

    def _take_files(self, image: ImageFolder) -> None:
        """Keeps what a container that has ended has written to its folder of the image."""
        layer, tree = image.find_layer(), self._outputs.tree
        if layer is None or not layer.is_dir():
            return
        if tree.work is None:
            # The VM has booted again.
            work = self._outputs.open_layer(layer)
            if work is not None:
                image.take(layer, work.scan()[0])
            return
        with self._outputs.sync.ended():
            image.take(layer, tree.work.scan()[0])
            tree.work = tree.work.at(image.folder)

    def _open_layer(self, image: ImageFolder) -> None:
        """From now on, what the container writes to its folder of the image is saved from its layer."""
        tree = self._outputs.tree
        work = tree.work
        if work is None:
            return
        image.fill()
        layer = image.find_layer()
        if layer is None:
            tree.work = None
            self._setup.log(
                'What the program writes to its folder of the image is not saved, since the engine keeps it where it cannot '
                'be read, or since it is the root. Write results to the directory in DROPFORGE_OUTPUT_DIR.',
                'WARNING',
            )
        else:
            tree.work = work.at(layer, is_layer=True)
            self._observer.metrics.read_below(layer)

    def run(self, secrets: Mapping[str, str], resume_arguments: Sequence[str]) -> ExitReport:
        engine, vm = self._engine, self._vm
        assert engine is not None
        state = self._setup.state.current
        image, folder = self._image_folder(engine), self.working_directory()
        layout = Layout(
            home=vm.home,
            job_dir=vm.config.spec.job_dir,
            import_roots=state.import_roots or (),
            package=None if folder == image.folder else folder,
            image_folder=image.path,
            has_buckets=serves_containers(vm.has_own_machine),
            is_shared=vm.config.replica_count > 1,
        )
        layout.prepare()
        argv = program_arguments(vm.config.spec, (*self._spec.argv, *resume_arguments))
        invocation = self._invoke(engine, layout, argv, self._variables(engine, layout, secrets))
        hooks = Hooks()
        if layout.package is None:
            hooks = Hooks(partial(self._open_layer, image), partial(self._take_files, image))
        write_container_entry(vm.home, engine, invocation)
        self._setup.set_phase('RUNNING')
        end = self._setup.supervisor.run_program(partial(self._start, engine, invocation, hooks), state.ran_seconds)
        failure = find_init_failure(invocation, end.return_code, end.stderr) if end.notice is None else None
        return failure or describe_end(end)

    def _variables(self, engine: Engine, layout: Layout, secrets: Mapping[str, str]) -> Mapping[str, str]:
        """Returns what the container has in addition to the image's own variables."""
        spec = self._vm.config.spec
        shown = engine.run_tool(['image', 'inspect', '--format', '{{json .Config.Env}}', self._spec.image])
        image = parse_image_variables(json.loads(shown.stdout or 'null') or ())
        tools = {
            'PYTHONUNBUFFERED': '1',
            **network_variables(spec),
            **image,
            **forwarded_variables(os.environ),
            # tini signals the program's process group, as the agent does without a container.
            'TINI_KILL_PROCESS_GROUP': '1',
            VM_MARKER: self._vm.mark,
            **secrets,
        }
        variables = program_environment(spec, layout.program_paths(), tools)
        removed = {name: '' for name in image if name not in variables}
        return {**{name: value for name, value in variables.items() if image.get(name) != value}, **removed}

    def _invoke(
        self, engine: Engine, layout: Layout, argv: Sequence[str], variables: Mapping[str, str]
    ) -> Invocation:
        config = self._vm.config
        files = named_files(forwarded_variables(os.environ))
        return Invocation(
            name=self._name,
            vm=self._vm.mark,
            image=self._spec.image,
            argv=argv,
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
        self,
        engine: Engine,
        invocation: Invocation,
        hooks: Hooks,
        on_output: Callable[[str, bytes], None],
        on_exit: Callable[[], None],
    ) -> ContainerProcess:
        process = ContainerProcess(
            engine,
            invocation,
            self._setup.secrets.mask,
            on_output=on_output,
            on_exit=on_exit,
            check=self._setup.supervisor.check,
            hooks=hooks,
        )
        self._observer.disk.add(engine.measure_layer(invocation.name))
        return process

    def _await_engine(self) -> Engine:
        """Raises ReplicaEnded if the machine has no engine that answers."""
        give_up_at = time.monotonic() + ENGINE_SECONDS_MAX
        while True:
            engine = find_engine(os.environ)
            if engine is not None:
                return replace(engine, folder=self._vm.home)
            if time.monotonic() > give_up_at:
                message = (
                    'The machine has no `docker` command with an engine that answers. Use a machine image with Docker; in the '
                    'embedded cloud, install Docker, or podman-docker beside Podman, and start its daemon.'
                )
                raise ReplicaEnded(ExitReport('CONTAINER_NOT_STARTED', message))
            self._setup.supervisor.wait(POLL_SECONDS)

    def _pull(self, engine: Engine) -> None:
        setup, vm = self._setup, self._vm
        setup.set_phase('PULLING')

        def run(argv: Sequence[str], environment: Mapping[str, str]) -> ToolResult:
            return setup.supervisor.run_tool(setup.command(argv, environment, vm.home))

        limits = vm.config.limits
        context = PullContext(
            folder=vm.home,
            policy=setup.policy,
            run=run,
            disk=DiskAllowance(
                bytes_left=lambda: limits.disk_bytes_max - self._observer.disk.used_bytes,
                remedy=limits.disk_remedy,
                is_own_disk=limits.disk_setting == 'bootDiskSizeGb',
            ),
            check=setup.supervisor.check,
            access=RegistryAccess(
                access_token=lambda: vm.token.bearer().partition(' ')[2],
                account=setup.secrets.account,
                read_secret=setup.secrets.read_login,
            ),
            mask=setup.secrets.mask,
            log=setup.log,
        )
        pull_image(engine, self._spec, context)


def _user(engine: Engine) -> Optional[str]:
    """
    The image's user if the agent is root. Another agent could not delete the files of that user: the program then has
    the agent's user.
    """
    if os.getuid() == 0:
        return None
    return '0:0' if engine.is_rootless() else f'{os.getuid()}:{os.getgid()}'
