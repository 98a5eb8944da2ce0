"""The paths of Cloud Storage in the program's interpreter."""

import os
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile
from pathlib import Path
from typing import List

AGENT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(AGENT))

from vm_agent.paths.bucket_objects import Entry  # noqa: E402
from vm_agent.paths.hook import PathMapper, _Reader  # noqa: E402  # pyright: ignore[reportPrivateUsage]
from vm_agent.paths.installer import install_path_hook  # noqa: E402

TRY_FILES = AGENT.parent / 'machine-image' / 'try_files.py'
REAL = {'stat': os.stat, 'makedirs': os.makedirs}

PROGRAM = """
import errno, glob, os, pathlib, shutil
for root in ('/gcs/jobs/mine', 'gs://jobs/mine'):
    shutil.rmtree(root)
    os.makedirs(root + '/a/b')
    with open(root + '/a/b/x.txt', 'w') as file:
        file.write('text')
    with open(root + '/new/folder.txt', 'x') as file:
        file.write('in a bucket, folders need not be made')
    assert os.path.isfile(root + '/a/b/x.txt') and os.path.getsize((root + '/a/b/x.txt').encode()) == 4
    assert pathlib.Path(root, 'a', 'b', 'x.txt').read_text() == 'text'
    assert sorted(name for _, _, names in os.walk(root) for name in names) == ['folder.txt', 'x.txt']
    assert glob.glob(root + '/*/*/*.txt') == [root + '/a/b/x.txt']
    os.replace(root + '/a/b/x.txt', root + '/y.txt')
    assert sorted(os.listdir(root)) == ['a', 'new', 'y.txt'], os.listdir(root)
    shutil.copy(root + '/y.txt', root + '/a/z.txt')
    os.remove(root + '/a/z.txt')
    try:
        open(root + '/missing')
        raise SystemExit('opened')
    except FileNotFoundError:
        pass
try:
    open('/gcs/other/x', 'w')
    raise SystemExit('written')
except OSError as error:
    assert error.errno == errno.EROFS and 'Only the job directory' in str(error)
"""


class HookTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.output = self.folder / 'output'
        self.output.mkdir()

    def test_the_job_directory_is_the_output_directory_for_the_file_functions_of_python(self) -> None:
        venv.EnvBuilder(symlinks=True, with_pip=False).create(self.folder / 'venv')
        install_path_hook(self.folder / 'venv', 'gs://jobs/mine', self.output, self.folder / 'cache')
        install_path_hook(self.folder / 'venv', 'gs://jobs/mine', self.output, self.folder / 'cache')
        # No proxy and no metadata server: an object outside of the directory must not be looked for.
        environment = {'GCE_METADATA_HOST': '127.0.0.1:9', 'https_proxy': 'http://127.0.0.1:9'}
        python = self.folder / 'venv' / 'bin' / 'python'
        ran = subprocess.run(
            [python, '-c', PROGRAM], env=environment, cwd=self.folder, capture_output=True, text=True, check=False
        )
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual((self.output / 'y.txt').read_text(), 'text')
        self.assertEqual((self.output / 'new' / 'folder.txt').read_text()[:4], 'in a')

    def test_programs_use_files_everywhere_as_without_the_hook(self) -> None:
        venv.EnvBuilder(system_site_packages=True, symlinks=True, with_pip=False).create(self.folder / 'venv')
        install_path_hook(self.folder / 'venv', 'gs://jobs/mine', self.output, self.folder / 'cache')
        folders = [str(self.folder / 'local'), 'gs://jobs/mine/a', '/gcs/jobs/mine/b']
        python = self.folder / 'venv' / 'bin' / 'python'
        command = [python, TRY_FILES, *folders]
        ran = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for folder in (self.folder / 'local', self.output / 'a', self.output / 'b'):
            self.assertTrue((folder / 'use_zipfile' / 'x.txt').is_file(), folder)

    def test_libraries_that_inspect_functions_find_the_names_and_no_hints(self) -> None:
        venv.EnvBuilder(symlinks=True, with_pip=False).create(self.folder / 'venv')
        install_path_hook(self.folder / 'venv', 'gs://jobs/mine', self.output, self.folder / 'cache')
        program = (
            'import os, typing; '
            "assert (open.__qualname__, os.stat.__qualname__) == ('open', 'stat'); "
            'assert typing.get_type_hints(open) == typing.get_type_hints(os.rename) == {}'
        )
        python = self.folder / 'venv' / 'bin' / 'python'
        ran = subprocess.run([python, '-c', program], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_imports_from_an_archive_a_library_that_it_would_patch(self) -> None:
        venv.EnvBuilder(symlinks=True, with_pip=False).create(self.folder / 'venv')
        install_path_hook(self.folder / 'venv', 'gs://jobs/mine', self.output, self.folder / 'cache')
        with zipfile.ZipFile(self.folder / 'libraries.zip', 'w') as archive:
            archive.writestr('safetensors/__init__.py', '')
            archive.writestr('safetensors/torch.py', 'save_file = 1')
        program = 'import sys; sys.path.insert(0, sys.argv[1]); import safetensors.torch'
        command = [self.folder / 'venv' / 'bin' / 'python', '-c', program, self.folder / 'libraries.zip']
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_maps_only_paths_of_cloud_storage(self) -> None:
        mapper = PathMapper('gs://jobs/a/mine', str(self.output), '/cache', REAL)
        for path in ('/gcs/jobs/a/mine/x', 'gs://jobs/a/mine/x', 'gs:/jobs/a/mine//x', b'/gcs/jobs/a/mine/x'):
            target = mapper.split(path)
            self.assertEqual(target, ('jobs', 'a/mine/x'), path)
            self.assertEqual(mapper.local(('jobs', 'a/mine/x')), f'{self.output}/x')
        for other in ('gs', '/gcsfuse/x', '/tmp/gs://x', 3, '', None, '/gcs/', 'gs://', 'gs://../etc/passwd'):
            self.assertIsNone(mapper.split(other), other)
        self.assertIsNone(mapper.local(('jobs', 'a/mine-2/x')))
        self.assertIsNone(mapper.local(('jobs-2', 'a/mine/x')))
        self.assertEqual(mapper.local(('jobs', 'a/mine')), str(self.output))

    def test_replicas_of_a_cluster_see_what_others_have_saved(self) -> None:
        class Bucket:
            def list(self, *_: object) -> List[Entry]:
                return [Entry('gs://jobs/mine', 'theirs', 1), Entry('gs://jobs/mine', 'both', 1)]

            def download(self, _bucket: str, name: str, _path: str) -> str:
                return f'/downloaded/{name}'

        (self.output / 'both').touch()
        real = {**REAL, 'listdir': os.listdir, 'scandir': os.scandir}
        mapper = PathMapper('gs://jobs/mine', str(self.output), '/cache', real, is_shared=True)
        mapper._objects = Bucket()  # pyright: ignore[reportPrivateUsage]
        for name in ('listdir', 'scandir'):
            found = [os.path.basename(os.fspath(entry)) for entry in _Reader(mapper, real[name], 'os')('/gcs/jobs/mine')]
            self.assertEqual(sorted(found), ['both', 'theirs'])
        self.assertEqual(mapper.readable(('jobs', 'mine/theirs'), '/gcs/jobs/mine/theirs'), '/downloaded/mine/theirs')
        self.assertEqual(mapper.readable(('jobs', 'mine/both'), '/gcs/jobs/mine/both'), f'{self.output}/both')

    def test_libraries_that_know_gs_get_it_where_replicas_share_a_directory(self) -> None:
        for is_shared, mine in ((True, 'gs://jobs/mine/x'), (False, f'{self.output}/x')):
            mapper = PathMapper('gs://jobs/mine', str(self.output), '/cache', REAL, is_shared)
            self.assertEqual(mapper.to_library('/gcs/jobs/mine/x'), mine)
            self.assertEqual(mapper.to_library('/gcs/other/x'), 'gs://other/x')
            self.assertEqual(mapper.to_library('/tmp/x'), '/tmp/x')


if __name__ == '__main__':
    unittest.main()
