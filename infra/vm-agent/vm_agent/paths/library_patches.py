"""Lets libraries that open files without Python open the paths of `hook`, which patches them after their import."""

from __future__ import annotations

import os

# typing takes longer to import than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from vm_agent.paths.hook import PathMapper


def patch_torch(mapper: PathMapper, module: Any) -> None:
    """torch.save opens the path of its file in C++."""
    real = module._open_zipfile_writer

    def open_writer(name_or_buffer: Any) -> Any:
        target = mapper.split(name_or_buffer) if isinstance(name_or_buffer, (str, os.PathLike)) else None
        return real(name_or_buffer if target is None else mapper.writable(target, name_or_buffer))

    module._open_zipfile_writer = open_writer


def patch_tensorflow(mapper: PathMapper, module: Any) -> None:
    """TensorFlow knows gs:// itself, but not /gcs, which Keras passes to tf.io.gfile."""
    real_copy, real_check = module.copy_v2, module.FileIO._prewrite_check

    def make_folder(path: Any) -> None:
        """A bucket needs none."""
        target = mapper.split(path) if os.fsdecode(path).startswith('/gcs/') else None
        if target is not None and not mapper.is_shared and mapper.local(target) is not None:
            mapper.writable(target, path)

    def copy(src: Any, dst: Any, overwrite: bool = False) -> Any:
        make_folder(dst)
        return real_copy(src, dst, overwrite)

    def check_before_write(file: Any) -> Any:
        make_folder(file.name)
        return real_check(file)

    class Compat:
        """TensorFlow's module `compat`, through which every path of this module goes."""

        def __getattr__(self, name: str) -> Any:
            return getattr(real_compat, name)

        def path_to_bytes(self, path: Any) -> Any:
            return real_compat.path_to_bytes(mapper.to_library(path))

        def path_to_str(self, path: Any) -> Any:
            return real_compat.path_to_str(mapper.to_library(path))

    real_compat = module.compat
    module.compat = Compat()
    module.copy_v2 = copy
    module.FileIO._prewrite_check = check_before_write


def patch_epath(mapper: PathMapper, module: Any) -> None:
    """Orbax passes such paths to a library in C++ that knows gs://."""
    real = module._process_parts

    def process(*parts: Any) -> Any:
        path = '/'.join(map(os.fspath, parts))
        return real(mapper.to_library(path)) if path.startswith('/gcs/') else real(*parts)

    module._process_parts = process


def patch_h5py(mapper: PathMapper, module: Any) -> None:
    real = module.File.__init__

    def initialize(self: Any, name: Any, mode: str = 'r', *args: Any, **kwargs: Any) -> None:
        target = mapper.split(name) if isinstance(name, (str, bytes, os.PathLike)) else None
        if target is not None:
            name = (mapper.readable if mode == 'r' else mapper.writable)(target, name)
        real(self, name, mode, *args, **kwargs)

    module.File.__init__ = initialize


def patch_safetensors(mapper: PathMapper, module: Any) -> None:
    real_save, real_load = module.save_file, module.load_file

    def save_file(tensors: Any, filename: Any, *args: Any, **kwargs: Any) -> Any:
        target = mapper.split(filename)
        return real_save(tensors, filename if target is None else mapper.writable(target, filename), *args, **kwargs)

    def load_file(filename: Any, *args: Any, **kwargs: Any) -> Any:
        target = mapper.split(filename)
        return real_load(filename if target is None else mapper.readable(target, filename), *args, **kwargs)

    module.save_file, module.load_file = save_file, load_file


def patch_tensorboard(mapper: PathMapper, module: Any) -> None:
    """Without TensorFlow, TensorBoard opens gs:// by gcsfs; without gcsfs, by the functions above."""
    import importlib.util

    if importlib.util.find_spec('gcsfs') is None:
        module.register_filesystem('gs', module.LocalFileSystem())
