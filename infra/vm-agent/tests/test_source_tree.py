import io
import lzma
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path
from typing import Dict, Set

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.setup.source_tree import InvalidArchive, can_build, inspect, read_requires_txt, unpack

SETUP = "from setuptools import setup\nsetup(name='trainer', packages=['trainer'])\n"


class SourceTreeTest(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def tree(self, files: Dict[str, str]) -> Path:
        root = self.folder / 'tree'
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return root

    def zip(self, *names: str) -> Path:
        path = self.folder / 'archive.zip'
        with zipfile.ZipFile(path, 'w') as archive:
            for name in names:
                archive.writestr(name, name)
        return path

    def tar(self, *members: tarfile.TarInfo) -> Path:
        path = self.folder / 'archive.tar.gz'
        with tarfile.open(path, 'w:gz') as archive:
            for member in members:
                archive.addfile(member, io.BytesIO(b'x' * member.size))
        return path

    def unpacked(self, archive: Path, unpacks_wheels: bool = False) -> Set[str]:
        """Unpacks the archive to the folder `inside` and returns its files."""
        inside = self.folder / 'inside'
        unpack(archive, inside, unpacks_wheels)
        return {path.relative_to(inside).as_posix() for path in inside.rglob('*') if path.is_file()}

    def test_unpacks_an_archive_and_a_single_file_and_a_wheel_only_for_a_container(self) -> None:
        files = {'trainer-1/setup.py', 'trainer-1/trainer/__init__.py'}
        self.assertEqual(self.unpacked(self.zip(*files)), files)
        self.assertEqual((self.folder / 'inside/trainer-1/setup.py').read_text(), 'trainer-1/setup.py')
        wheel = self.folder / 'trainer-1-py3-none-any.whl'
        self.zip('trainer/task.py').rename(wheel)
        self.assertEqual(self.unpacked(wheel), set())
        self.assertEqual(self.unpacked(wheel, unpacks_wheels=True), {'trainer/task.py'})
        (self.folder / 'train.py').write_text('1')
        self.assertEqual(self.unpacked(self.folder / 'train.py'), {'train.py'})

    def test_unpacks_a_tar_and_not_a_zip_in_it(self) -> None:
        inner = self.zip('data.csv').read_bytes()
        member = tarfile.TarInfo('p/data.zip')
        member.size = len(inner)
        path = self.folder / 'outer.tar'
        with tarfile.open(path, 'w') as archive:
            archive.addfile(member, io.BytesIO(inner))
        self.assertEqual(self.unpacked(path), {'p/data.zip'})

    def test_unpacks_a_tar_and_no_compressed_one_in_its_first_header(self) -> None:
        path = self.folder / 'odd.tar'
        plain = io.BytesIO()
        with tarfile.open(fileobj=plain, mode='w') as archive:
            archive.addfile(tarfile.TarInfo('hidden'))
        for mode in ('w:xz', 'w:bz2'):
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode=mode) as archive:
                archive.addfile(tarfile.TarInfo('hidden'))
            path.write_bytes(packed.getvalue())
            with self.assertRaises(InvalidArchive):
                unpack(path, self.folder / 'inside')
        filters = [{'id': lzma.FILTER_LZMA1, 'dict_size': 4_096, 'lc': 0, 'pb': 1, 'nice_len': 273, 'depth': 1_000}]
        # The stream ends in the name field, and what follows it is a valid header.
        stream = lzma.compress(plain.getvalue()[:1_024], lzma.FORMAT_ALONE, filters=filters)
        self.assertLess(len(stream), 100)
        header = bytearray(tarfile.TarInfo('x').tobuf(tarfile.USTAR_FORMAT))
        header[:100] = stream.ljust(100, b'\0')
        header[148:156] = b' ' * 8
        header[148:156] = b'%06o\0 ' % sum(header)
        path.write_bytes(bytes(header) + tarfile.TarInfo('seen').tobuf() + bytes(1_024))
        self.assertIn('seen', self.unpacked(path))

    def test_keeps_empty_folders(self) -> None:
        folder, file = tarfile.TarInfo('vae/results'), tarfile.TarInfo('vae/main.py')
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        for archive in (self.tar(file, folder), self.zip('vae/main.py', 'vae/results/')):
            self.assertEqual(self.unpacked(archive), {'vae/main.py'})
            self.assertEqual(list((self.folder / 'inside/vae/results').iterdir()), [])

    def test_writes_nothing_outside_its_folder(self) -> None:
        for name in ('../out', '/out', 'a/../../out'):
            with self.subTest(name), self.assertRaises(InvalidArchive):
                unpack(self.zip(name), self.folder / 'inside')
        self.assertFalse((self.folder / 'out').exists())

    def test_ignores_links_and_devices(self) -> None:
        link, device, file = tarfile.TarInfo('link'), tarfile.TarInfo('device'), tarfile.TarInfo('link/file')
        link.type, link.linkname = tarfile.SYMTYPE, str(self.folder)
        device.type = tarfile.CHRTYPE
        file.size = 3
        unpack(self.tar(link, device, file), self.folder / 'inside')
        self.assertFalse((self.folder / 'file').exists())
        self.assertFalse(any(path.is_symlink() for path in (self.folder / 'inside').rglob('*')))

    def test_unpacks_links_to_files_of_the_archive(self) -> None:
        file, hard, chain = tarfile.TarInfo('p/train.py'), tarfile.TarInfo('p/hard.py'), tarfile.TarInfo('p/a/chain.py')
        file.size = 3
        hard.type, hard.linkname = tarfile.LNKTYPE, 'p/train.py'
        chain.type, chain.linkname = tarfile.SYMTYPE, '../hard.py'
        outside, loop = tarfile.TarInfo('p/outside'), tarfile.TarInfo('p/loop')
        outside.type, outside.linkname = tarfile.SYMTYPE, '../../etc/passwd'
        loop.type, loop.linkname = tarfile.SYMTYPE, 'loop'
        archive = self.tar(chain, file, hard, outside, loop)
        self.assertEqual(self.unpacked(archive), {'p/train.py', 'p/hard.py', 'p/a/chain.py'})
        self.assertEqual((self.folder / 'inside/p/a/chain.py').read_text(), 'xxx')

    def test_rejects_invalid_and_truncated_archives(self) -> None:
        complete = self.tar(*[tarfile.TarInfo(f'file-{number}') for number in range(50)]).read_bytes()
        for body in (b'', b'not an archive', complete[: len(complete) // 2]):
            path = self.folder / 'broken.tar.gz'
            path.write_bytes(body)
            with self.subTest(len(body)), self.assertRaises(InvalidArchive):
                unpack(path, self.folder / 'inside')

    def test_imports_from_the_directory_of_the_egg_info_with_its_requirements(self) -> None:
        files = {
            'setup.py': "setup(package_dir={'': 'src'})",
            'src/trainer.egg-info/requires.txt': 'numpy>=1\n\n[extra]\nscipy\n\n[:python_version < "3.8"]\nbackport\n',
            'src/trainer/__init__.py': '',
        }
        root = self.tree(files)
        self.assertEqual(inspect(root).import_root, root / 'src')
        self.assertEqual(inspect(root).requirements, ('numpy>=1', 'backport ; python_version < "3.8"'))

    def test_leaves_to_a_build_what_cannot_be_imported_directly(self) -> None:
        for files in (
            {'setup.py': SETUP.replace('name', 'cmdclass={}, name')},
            {'setup.py': SETUP, 'trainer/fast.pyx': ''},
            {'setup.py': SETUP.replace('name', "install_requires=['x'], name")},
            {'setup.py': SETUP, 'src/trainer/__init__.py': ''},
        ):
            with self.subTest(files), tempfile.TemporaryDirectory() as folder:
                self.folder = Path(folder)
                self.assertIsNone(inspect(self.tree(files)).import_root)

    def test_can_build_only_with_the_build_backend_of_the_project(self) -> None:
        root = self.tree({'pyproject.toml': '[build-system]\nbuild-backend = "no_such_backend.api"\n'})
        self.assertFalse(can_build(root))
        (root / 'pyproject.toml').write_text('[build-system]\nbuild-backend = "json.tool"\n')
        self.assertTrue(can_build(root))

    def test_ignores_the_requirements_of_extras(self) -> None:
        self.assertEqual(read_requires_txt('\n[dev]\nx\n'), ())


if __name__ == '__main__':
    unittest.main()
