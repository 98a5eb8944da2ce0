"""
Runs in the program's interpreter before the program: lets Python's file functions open gs://BUCKET/OBJECT and
/gcs/BUCKET/OBJECT. What lies in the job directory is in the local output directory, which the agent uploads. Other
objects can be read: they are downloaded when they are opened. Libraries that open files otherwise do not use it.
"""

from __future__ import annotations

import builtins
import errno
import importlib
import importlib.machinery
import io
import os
import posixpath
import sys

# typing takes longer to import than this module, at every start of an interpreter.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Tuple

    Target = Tuple[str, str]
    """Bucket and name."""

_PREFIXES = ('gs:/', '/gcs/')
# In the folder /gcs of a container, which has the job directory, but no bucket.
NO_BUCKETS_FILE = '.dropforge'
_HAS_XATTR = hasattr(os, 'listxattr')
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class PathMapper:
    """Maps the paths of one job. `real` has the functions of the os module, and `open`, before they were replaced."""

    def __init__(
        self, job_dir: str, output: str, cache: str, real: Dict[str, Callable[..., Any]], is_shared: bool = False
    ) -> None:
        """With `is_shared`, other replicas save files to the job directory, too."""
        self.is_shared = is_shared
        self._bucket, _, prefix = job_dir[len('gs://') :].partition('/')
        self._prefix = prefix.strip('/')
        self._output = output
        self._cache = cache
        self._real = real
        self._objects: Any = None
        self._mounted: Dict[str, bool] = {}

    def split(self, path: Any) -> Optional[Target]:
        """Returns the bucket and name of a path of Cloud Storage, else None."""
        if isinstance(path, int):
            return None
        try:
            text = os.fsdecode(path)
        except TypeError:
            return None
        if not text.startswith(_PREFIXES):
            return None
        rest = text[4:] if text.startswith('gs:/') else text[5:]
        bucket, _, name = posixpath.normpath(rest.lstrip('/')).partition('/')
        is_object = bucket not in ('', '.', '..') and not (text.startswith('/gcs/') and self._is_mounted(bucket))
        return (bucket, name) if is_object else None

    def local(self, target: Target) -> Optional[str]:
        """Returns the path in the local output directory, or None if it is outside of the job directory."""
        bucket, name = target
        if bucket != self._bucket or not f'{name}/'.startswith(f'{self._prefix}/' if self._prefix else ''):
            return None
        return os.path.join(self._output, name[len(self._prefix) :].strip('/')).rstrip('/')

    def is_parent(self, target: Target) -> bool:
        """Whether the job directory is below this directory, which therefore exists."""
        bucket, name = target
        return bucket == self._bucket and (not name or self._prefix.startswith(f'{name}/'))

    def _is_package(self, target: Target) -> bool:
        """Packages lie in the job directory, but are not restored to the local one."""
        return target[1].startswith(f'{self._prefix}/packages/'.lstrip('/'))

    def readable(self, target: Target, path: Any) -> str:
        """Returns a local file with the object's bytes. Raises OSError."""
        local = self.local(target)
        is_there = local is not None and (not self.is_shared or self._exists(local))
        if local is not None and is_there and not self._is_package(target):
            return local
        downloaded: str = self.objects.download(*target, os.fsdecode(path))
        return downloaded

    def writable(self, target: Target, path: Any) -> str:
        """Returns the local file to write, whose directory exists as in a bucket. Raises OSError."""
        local = self.local(target)
        if local is None and self.is_parent(target):
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST), os.fsdecode(path))
        if local is None:
            message = 'Only the job directory can be written by path: use a client of Cloud Storage for other buckets'
            raise OSError(errno.EROFS, message, os.fsdecode(path))
        folder = os.path.dirname(local)
        if not self._exists(folder):
            os.makedirs(folder, exist_ok=True)
        return local

    def to_library(self, path: Any) -> Any:
        """Returns the path for a library that knows gs://, but not /gcs. Replicas see each other's files at gs:// only."""
        target = self.split(path) if os.fsdecode(path).startswith('/gcs/') else None
        local = None if target is None or self.is_shared else self.local(target)
        return path if target is None else local or f'gs://{target[0]}/{target[1]}'

    @property
    def objects(self) -> Any:
        if self._objects is None:
            module = importlib.import_module(f'{__name__.rpartition(".")[0]}.bucket_objects')
            self._real['makedirs'](self._cache, exist_ok=True)
            self._objects = module.Bucket(self._cache)
        return self._objects

    def _exists(self, path: str) -> bool:
        try:
            self._real['stat'](path)
            return True
        except OSError:
            return False

    def _is_mounted(self, bucket: str) -> bool:
        """Whether the machine has the whole bucket at /gcs, as with gcsfuse; a container has the job directory there."""
        if bucket not in self._mounted:
            try:
                is_other_disk = self._real['stat'](f'/gcs/{bucket}').st_dev != self._real['stat']('/').st_dev
                self._mounted[bucket] = is_other_disk and not self._exists(f'/gcs/{NO_BUCKETS_FILE}')
            except OSError:
                self._mounted[bucket] = False
        return self._mounted[bucket]


def install(
    job_dir: str, output: str, cache: str, is_shared: bool = False
) -> Callable[[str, Callable[[Any], None]], None]:
    """Replaces the file functions of this interpreter. Returns what adds a module to those that are patched."""
    real: Dict[str, Callable[..., Any]] = {
        name: getattr(os, name) for name in (*_READERS, *_WRITERS, *_TWO_PATHS, 'open', 'makedirs')
    }
    mapper = PathMapper(job_dir, output, cache, real, is_shared)
    builtins.open = io.open = _Open(mapper, io.open, 'io')
    os.open = _as_supported(_OsOpen(mapper, real['open'], 'os'))
    for kind, names in ((_Reader, _READERS), (_Writer, _WRITERS), (_TwoPathWriter, _TWO_PATHS)):
        for name in names:
            setattr(os, name, _as_supported(kind(mapper, real[name], 'os')))
    finder = _PatchAfterImport(mapper)
    sys.meta_path.insert(0, finder)
    return finder.add


# Extended attributes, which shutil copies, are Linux's.
_READERS = ('stat', 'lstat', 'access', 'listdir', 'scandir', *(('listxattr', 'getxattr') if _HAS_XATTR else ()))
_WRITERS = ('mkdir', 'remove', 'unlink', 'rmdir', 'chmod', 'utime', 'truncate', *(('setxattr',) if _HAS_XATTR else ()))
_TWO_PATHS = ('rename', 'replace', 'link', 'symlink')


class _Replacement:
    """
    Stands for a built-in function, and behaves as one where a Python function does not: it does not become a method
    when a class keeps it, as pathlib's classes do before Python 3.11, and pickle saves it by name.
    """

    def __init__(self, mapper: PathMapper, real: Any, module: str) -> None:
        """`module` is where programs find the function."""
        self._mapper, self._real = mapper, real
        self.__name__, self.__doc__, self.__module__ = real.__name__, real.__doc__, module
        # Read by libraries of typing and logging; built-in functions have the first, and no hints.
        self.__qualname__, self.__annotations__ = real.__qualname__, {}
        # Has the signature, for inspect.
        self.__wrapped__ = real

    def __reduce__(self) -> str:
        return self.__name__


def _as_supported(replacement: Any) -> Any:
    """The standard library looks functions up in these sets before it passes such arguments."""
    for supported in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        if replacement.__wrapped__ in supported:
            supported.add(replacement)
    return replacement


def _as_given(path: Any, mapped: str) -> Any:
    return os.fsencode(mapped) if isinstance(os.fspath(path), bytes) else mapped


class _Open(_Replacement):
    def __call__(self, file: Any, mode: str = 'r', *args: Any, **kwargs: Any) -> Any:
        target = self._mapper.split(file)
        if target is not None:
            file = (self._mapper.writable if set('wax+') & set(mode) else self._mapper.readable)(target, file)
        return self._real(file, mode, *args, **kwargs)


class _OsOpen(_Replacement):
    def __call__(self, path: Any, flags: int, *args: Any, **kwargs: Any) -> Any:
        target = self._mapper.split(path)
        if target is not None:
            path = (self._mapper.writable if flags & _WRITE_FLAGS else self._mapper.readable)(target, path)
        return self._real(path, flags, *args, **kwargs)


class _Reader(_Replacement):
    def __call__(self, path: Any = '.', *args: Any, **kwargs: Any) -> Any:
        target = self._mapper.split(path)
        if target is None:
            return self._real(path, *args, **kwargs)
        local = self._mapper.local(target)
        if local is None and self._mapper.is_parent(target) and self.__name__ in ('stat', 'lstat'):
            return self._real('/', *args, **kwargs)
        if local is not None and not self._mapper.is_shared:
            return self._real(_as_given(path, local), *args, **kwargs)
        try:
            own = self._real(_as_given(path, local), *args, **kwargs) if local is not None else None
        except FileNotFoundError:
            own = None
        if own and self.__name__ not in ('listdir', 'scandir'):
            return own
        try:
            remote = _read_remote(self._mapper, self.__name__, (target, path), args)
        except FileNotFoundError:
            if own is None:
                raise
            return own
        return remote if own is None else _join_lists(remote, own)


def _join_lists(remote: Any, own: Any) -> Any:
    """Returns what other replicas have saved in a directory, and what this one has there."""
    entries = {getattr(entry, 'name', entry): entry for entries in (remote, own) for entry in entries}
    return list(entries) if isinstance(own, list) else _Scan(entries.values())


def _read_remote(mapper: PathMapper, name: str, found: Tuple[Target, Any], args: Tuple[Any, ...]) -> Any:
    target, path = found
    text = os.fsdecode(path)
    if name == 'access':
        try:
            mapper.objects.stat(*target, text)
        except OSError:
            return False
        return not (args and args[0] & os.W_OK)
    if name in ('stat', 'lstat'):
        return mapper.objects.stat(*target, text)
    if name == 'listxattr':
        return []
    if name == 'getxattr':
        raise OSError(errno.ENODATA, os.strerror(errno.ENODATA), text)
    entries = mapper.objects.list(*target, text)
    return [entry.name for entry in entries] if name == 'listdir' else _Scan(entries)


class _Scan:
    """The iterator of os.scandir, which is a context manager."""

    def __init__(self, entries: Any) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> '_Scan':
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> '_Scan':
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


class _Writer(_Replacement):
    def __call__(self, path: Any, *args: Any, **kwargs: Any) -> Any:
        target = self._mapper.split(path)
        if target is not None:
            path = _as_given(path, self._mapper.writable(target, path))
        return self._real(path, *args, **kwargs)


class _TwoPathWriter(_Replacement):
    def __call__(self, src: Any, dst: Any, *args: Any, **kwargs: Any) -> Any:
        paths = []
        for path in (src, dst):
            target = self._mapper.split(path)
            paths.append(path if target is None else _as_given(path, self._mapper.writable(target, path)))
        return self._real(*paths, *args, **kwargs)


class _PatchAfterImport:
    """Patches the modules that open files without Python, once they have been imported."""

    def __init__(self, mapper: PathMapper) -> None:
        self._mapper = mapper
        self._patches: Dict[str, Any] = {
            'etils.epath.gpath': 'patch_epath',
            'h5py._hl.files': 'patch_h5py',
            'safetensors.torch': 'patch_safetensors',
            'tensorflow.python.lib.io.file_io': 'patch_tensorflow',
            'torch.serialization': 'patch_torch',
            'tensorboard.compat.tensorflow_stub.io.gfile': 'patch_tensorboard',
        }

    def add(self, name: str, patch: Callable[[Any], None]) -> None:
        self._patches[name] = patch

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        patch = self._patches.pop(fullname, None)
        spec = patch and importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if not patch or spec is None or spec.loader is None:
            return None
        loader: Any = spec.loader
        execute = getattr(loader, 'exec_module', None)
        if execute is None:
            # zipimport's before Python 3.10: the module is imported as without this.
            return None

        def execute_and_patch(module: Any) -> None:
            execute(module)
            try:
                if isinstance(patch, str):
                    folder = __name__.rpartition('.')[0]
                    getattr(importlib.import_module(f'{folder}.library_patches'), patch)(self._mapper, module)
                else:
                    patch(module)
            except Exception:
                # Another version of the library: it works as without this.
                return

        loader.exec_module = execute_and_patch
        return spec
