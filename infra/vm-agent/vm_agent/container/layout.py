"""Where a container has the folders of its VM."""

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import List, Optional, Tuple

from vm_agent.container.invocation import Mount
from vm_agent.metrics.program_metrics import MetricPaths
from vm_agent.paths.hook import NO_BUCKETS_FILE
from vm_agent.paths.installer import SHARED, install_container_hook
from vm_agent.paths.mlflow_installer import install_mlflow_plugin
from vm_agent.paths.mount import BUCKETS
from vm_agent.program.exit_report import ExitReport, ReplicaEnded
from vm_agent.program.foreign_files import has_link
from vm_agent.setup.environment import ProgramPaths
from vm_agent.setup.work_directory import create_job_dir_link

ROOT = PurePosixPath('/dropforge')
OUTPUT, METRICS, OBJECTS = ROOT / 'output', ROOT / 'metrics', ROOT / 'objects'
HOOK, PACKAGES = ROOT / 'python', ROOT / 'packages'


@dataclass(frozen=True)
class Layout:
    home: Path
    job_dir: str
    import_roots: Tuple[str, ...]
    """Folders of unpacked packages on the VM."""
    package: Optional[Path]
    """The one in which the program runs; None if it runs in the image's folder."""
    image_folder: str
    """Where the program runs if it has no package."""
    has_buckets: bool = False
    """Whether Cloud Storage FUSE has mounted them on the VM."""
    is_shared: bool = False
    """Whether several replicas use the job directory."""

    @property
    def stack_dumps(self) -> Path:
        return container_stack_dumps(self.home)

    @property
    def working_directory(self) -> str:
        return self.image_folder if self.package is None else str(self._inside(self.package))

    def program_paths(self) -> ProgramPaths:
        inner = MetricPaths(self.home, Path(METRICS))
        return ProgramPaths(
            python=Path('python3'),
            output=Path(OUTPUT),
            metrics_file=inner.metrics_file,
            hypertune_file=inner.hypertune_file,
            import_roots=(str(HOOK), *(str(self._inside(Path(root))) for root in self.import_roots)),
        )

    def prepare(self) -> None:
        """Creates the folders, writable for the user of any image. Raises OSError, and ReplicaEnded."""
        if self.package is not None:
            reject_links(self.home, self.package)
        outer = MetricPaths(self.home)
        for folder in (outer.metrics_file.parent, outer.hypertune_file.parent, self.home / 'objects'):
            # After a reboot, the program may have left a link in its place.
            if folder.is_symlink():
                folder.unlink()
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o777)
        (self._buckets / self._bucket_path).mkdir(parents=True, exist_ok=True)
        if self.package is None and PurePosixPath('/gcs') in (folder := PurePosixPath(self._job_dir_path)).parents:
            # The engine cannot create it in a folder that is read-only.
            (self._buckets / folder.relative_to('/gcs')).mkdir(parents=True, exist_ok=True)
        (self._buckets / NO_BUCKETS_FILE).touch()
        self.stack_dumps.unlink(missing_ok=True)
        self.stack_dumps.touch()
        self.stack_dumps.chmod(0o666)
        stacks, shared = METRICS / self.stack_dumps.name, SHARED if self.is_shared else ''
        install_container_hook(self.home / 'hook', (self.job_dir, str(OUTPUT), str(OBJECTS), str(stacks), shared))
        install_mlflow_plugin(self.home / 'hook')
        open_to_all(self.home / 'output')
        if self.package is not None:
            open_to_all(self.package)
            create_job_dir_link(self.package, self.job_dir, Path(OUTPUT))

    @property
    def _bucket_path(self) -> str:
        return self.job_dir[len('gs://') :].strip('/')

    @property
    def _job_dir_path(self) -> str:
        """Where a program that runs in the image's folder has the job directory as a relative path."""
        return str(PurePosixPath(self.image_folder or '/') / 'gs:' / self._bucket_path)

    @property
    def _buckets(self) -> Path:
        """An empty folder, but for mount points of the job directory."""
        return self.home / 'gcs'

    def mounts(self) -> List[Mount]:
        home, output, bucket_path = self.home, self.home / 'output', self._bucket_path
        mounts = [
            Mount(output, str(OUTPUT)),
            Mount(home / 'metrics', str(METRICS)),
            Mount(home / 'objects', str(OBJECTS)),
            Mount(home / 'hook', str(HOOK), is_read_only=True),
        ]
        # The mount of Vertex AI, for programs in any language. Without Cloud Storage FUSE, other buckets are not there:
        # writing to their paths fails, since a file on the container's own disk would be lost.
        mounts.append(Mount(BUCKETS if self.has_buckets else self._buckets, '/gcs', is_read_only=not self.has_buckets))
        if not (self.has_buckets and self.is_shared):
            mounts.append(Mount(output, f'/gcs/{bucket_path}'))
        if self.package is None:
            # The relative path that a program opens which takes gs://... for a file.
            mounts.append(Mount(output, self._job_dir_path))
        for folder in self._unpacked():
            mounts.append(Mount(folder, str(PACKAGES / folder.name), is_read_only=not self._is_writable(folder)))
        return mounts

    def _unpacked(self) -> List[Path]:
        """The folder of each unpacked package that is imported from."""
        sources = self.home / 'sources'
        folders = [Path(root) for root in self.import_roots] + ([] if self.package is None else [self.package])
        return sorted({sources / folder.relative_to(sources).parts[0] for folder in folders})

    def _is_writable(self, folder: Path) -> bool:
        """A program may write to the folder in which it runs, as without a container."""
        return self.package is not None and folder in (self.package, *self.package.parents)

    def _inside(self, folder: Path) -> PurePosixPath:
        return PACKAGES / folder.relative_to(self.home / 'sources').as_posix()


def reject_links(home: Path, package: Path) -> None:
    """
    Raises ReplicaEnded if the path of the package has a link: after a reboot, a package that the program has replaced
    by one would lead anywhere.
    """
    if has_link(home / 'sources', package):
        message = 'The program has put a link in the place of its package, in which it cannot be started again.'
        raise ReplicaEnded(ExitReport('CONTAINER_NOT_STARTED', message))


def container_stack_dumps(home: Path) -> Path:
    """Where the processes of the container write their stacks when the agent asks for them."""
    return MetricPaths(home).metrics_file.with_name('stack_dumps')


def open_to_all(folder: Path) -> None:
    """Restored files and packages are the agent's; the program may run as another user. Follows no links."""
    for parent, _, names in os.walk(folder):
        os.chmod(parent, 0o777)
        for name in names:
            path = os.path.join(parent, name)
            if not os.path.islink(path):
                os.chmod(path, os.stat(path).st_mode | 0o666)
