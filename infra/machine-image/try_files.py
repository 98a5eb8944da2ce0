"""
Uses files as training programs do: with pathlib, os, shutil, tempfile, zipfile, pickle, and with NumPy and PyTorch if
they are installed. Raises the first error.

    try_files.py FOLDER...         uses files below each folder, which is a path or gs://BUCKET/NAME
    try_files.py --hook HOOK WORK  the same below WORK and a job directory, with the agent's hook.py in this interpreter
"""

# The libraries are those of the machine image.
# pyright: reportMissingImports=false

import os
import sys

JOB_DIR = 'gs://dropforge-check/job'


def main(argv):
    folders = argv
    if argv[0] == '--hook':
        # Before any other import, as a program's interpreter loads it: modules keep the functions that they find.
        hook, work = argv[1:]
        sys.path.insert(0, os.path.dirname(hook))
        from hook import install

        install(JOB_DIR, os.path.join(work, 'output'), os.path.join(work, 'objects'))
        folders = [os.path.join(work, 'local'), JOB_DIR, JOB_DIR.replace('gs://', '/gcs/')]
    for folder in folders:
        for use in (use_os, use_pathlib, use_shutil, use_zipfile, use_numpy, use_torch):
            target = os.path.join(folder, use.__name__)
            os.makedirs(target, exist_ok=True)
            use(target)
    use_tempfile()
    use_as_values()


def use_os(folder):
    path = os.path.join(folder, 'a.txt')
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(descriptor, b'text')
    os.close(descriptor)
    os.rename(path, path + '.new')
    os.chmod(path + '.new', 0o644)
    os.utime(path + '.new', (1, 1))
    assert os.stat(path + '.new').st_size == 4 and os.access(path + '.new', os.R_OK)
    os.truncate(path + '.new', 0)
    assert [entry.name for entry in os.scandir(folder)] == os.listdir(folder) == ['a.txt.new']
    assert [names for _, _, names in os.walk(folder)] == [['a.txt.new']]
    os.remove(path + '.new')
    os.mkdir(os.path.join(folder, 'b'))
    os.rmdir(os.path.join(folder, 'b'))


def use_pathlib(folder):
    from pathlib import Path

    path = Path(folder, 'deep', 'er', 'a.txt')
    path.parent.mkdir(parents=True, exist_ok=True)
    assert path.write_text('text') == 4 and path.read_text() == 'text' and path.read_bytes() == b'text'
    with path.open('a') as file:
        file.write('more')
    path.touch()
    path.chmod(0o600)
    assert path.exists() and path.is_file() and path.parent.is_dir()
    assert path.stat().st_size == path.lstat().st_size == 8
    path.replace(path.with_suffix('.json'))
    path.with_suffix('.json').rename(path)
    assert [found.name for found in Path(folder).rglob('*.txt')] == ['a.txt']
    assert [found.name for found in path.parent.iterdir()] == ['a.txt']
    path.unlink()
    path.parent.rmdir()


def use_shutil(folder):
    import shutil

    source, copy = os.path.join(folder, 'a'), os.path.join(folder, 'copies', 'b')
    os.makedirs(source)
    with open(os.path.join(source, 'x.txt'), 'w') as file:
        file.write('text')
    shutil.copytree(source, copy)
    shutil.copy2(os.path.join(copy, 'x.txt'), os.path.join(copy, 'y.txt'))
    shutil.move(os.path.join(copy, 'y.txt'), os.path.join(source, 'y.txt'))
    assert sorted(os.listdir(source)) == ['x.txt', 'y.txt']
    shutil.rmtree(folder)
    assert not os.path.exists(folder)


def use_zipfile(folder):
    import tarfile
    import zipfile

    path = os.path.join(folder, 'a.zip')
    with zipfile.ZipFile(path, 'w') as written:
        written.writestr('x.txt', 'text')
    with zipfile.ZipFile(path) as read:
        read.extractall(folder)
    with tarfile.open(path + '.tar.gz', 'w:gz') as packed:
        packed.add(os.path.join(folder, 'x.txt'), 'x.txt')
    with tarfile.open(path + '.tar.gz') as unpacked:
        assert unpacked.getnames() == ['x.txt']


def use_tempfile():
    import tempfile

    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile('w+', dir=folder) as file:
        file.write('text')
        file.flush()
        assert os.path.getsize(file.name) == 4
    with tempfile.TemporaryFile() as file, tempfile.SpooledTemporaryFile(max_size=1) as spooled:
        file.write(b'text')
        spooled.write(b'text')
    assert not os.path.exists(folder)


class Accessor:
    """Keeps functions as attributes, as some libraries do; built-in functions do not become methods by that."""

    open, os_open, stat, listdir, mkdir, replace = open, os.open, os.stat, os.listdir, os.mkdir, os.replace


def use_as_values():
    import copy
    import inspect
    import pickle

    # A class as type checkers do not know it: they take the functions for methods.
    accessor = globals()['Accessor']()
    assert accessor.stat('/').st_ino == os.stat('/').st_ino and 'root' in accessor.open('/etc/passwd').read()
    assert sorted(accessor.listdir('/')) == sorted(os.listdir('/'))
    for function in (open, os.open, os.stat, os.remove, os.rename):
        # A pool of processes passes the function that it maps in this way.
        assert pickle.loads(pickle.dumps(function)) is function and copy.deepcopy(function) is function
        assert inspect.signature(function).parameters and function.__name__ and function.__doc__ and hash(function)
    assert os.stat in os.supports_dir_fd and os.scandir in os.supports_fd and os.stat in os.supports_follow_symlinks


def use_numpy(folder):
    try:
        import numpy
    except ImportError:
        print('NumPy is not installed: left out.')
        return
    array, path = numpy.arange(4), os.path.join(folder, 'a')
    numpy.save(path + '.npy', array)
    numpy.savez(path + '.npz', array=array)
    array.tofile(path + '.bin')
    assert (numpy.load(path + '.npy') == array).all() and (numpy.load(path + '.npz')['array'] == array).all()
    assert (numpy.fromfile(path + '.bin', array.dtype) == array).all()
    assert (numpy.load(path + '.npy', mmap_mode='r') == array).all()


def use_torch(folder):
    try:
        import torch
    except ImportError:
        print('PyTorch is not installed: left out.')
        return
    from pathlib import Path

    tensor = torch.arange(4)
    for path in (os.path.join(folder, 'a.pt'), Path(folder, 'b.pt')):
        torch.save({'tensor': tensor}, path)
        assert torch.equal(torch.load(path)['tensor'], tensor)


if __name__ == '__main__':
    main(sys.argv[1:])
