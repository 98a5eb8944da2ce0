import hashlib
import io
import os
import stat
import sys
import tarfile
import tempfile
import threading
import time
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from fake_storage import BUCKET, FakeStorage, StoredObject

from vm_agent.cache.entries import CacheLocation, sha256_of
from vm_agent.cache.environment_cache import EnvironmentCache
from vm_agent.cache.files import NotCacheable, describe_environment, list_distributions, site_packages
from vm_agent.cache.key import Installation, cpu_features, environment_key, normalize_requirement
from vm_agent.cache.restore import RANGE_BYTES
from vm_agent.cache.scripts import relocate_script
from vm_agent.cache.store import BackgroundStore
from vm_agent.http.retry import RetryPolicy
from vm_agent.setup.virtual_environment import create_venv
from vm_agent.storage.transfer.client import Author, ObjectInfo

KEY = 'a' * 64
LARGE = os.urandom(RANGE_BYTES + 1_000)


def key_of(*requirements: str, own: str = 'trainer', **environment: str) -> str:
    normalized = [normalize_requirement(requirement) or '' for requirement in requirements]
    return environment_key(Installation(tuple(sorted(normalized)), (own,), environment))


class KeyTest(unittest.TestCase):
    def test_is_the_same_for_requirements_that_differ_only_in_writing(self) -> None:
        self.assertEqual(key_of('NumPy >=1, <3', 'scikit_learn'), key_of('scikit-learn', 'numpy<3,>=1'))
        self.assertEqual(key_of('a[y,X]; python_version > "3.8"'), key_of("A[x, Y] ;python_version  > '3.8'"))

    def test_differs_by_requirement_own_package_and_index(self) -> None:
        keys = [
            key_of('numpy'),
            key_of('numpy==2'),
            key_of('numpy', own='other'),
            key_of('numpy', PIP_INDEX_URL='https://a/simple'),
            key_of('numpy', PIP_INDEX_URL='https://b/simple'),
        ]
        self.assertEqual(len(set(keys)), len(keys))

    def test_is_the_same_for_other_credentials_certificates_and_paths(self) -> None:
        first = key_of('numpy', PIP_INDEX_URL='https://me:one@a/simple', PIP_CERT='/vm-1/ca.pem', HOME='/vm-1')
        self.assertEqual(first, key_of('numpy', PIP_INDEX_URL='https://me:two@a/simple', PIP_CERT='/x', HOME='/vm-2'))

    def test_differs_by_what_a_file_of_constraints_says(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / 'constraints.txt'
            keys = []
            for text in ('numpy<2', 'numpy<3'):
                path.write_text(text)
                keys.append(key_of('numpy', PIP_CONSTRAINT=str(path)))
        self.assertNotEqual(*keys)

    def test_reads_a_requirement_in_a_time_that_its_length_bounds(self) -> None:
        self.assertIsNone(normalize_requirement('a' + ('<1' + ' ' * 40) * 40 + '$'))

    def test_is_not_made_of_requirements_that_may_change_without_their_text(self) -> None:
        for text in (
            'pkg @ https://example.org/pkg.whl',
            'git+https://github.com/a/b',
            './local',
            'pkg-1.0.tar.gz',
            '-e .',
            '--extra-index-url https://x',
            '',
        ):
            self.assertIsNone(normalize_requirement(text), text)


class ScriptTest(unittest.TestCase):
    def relocated(self, body: bytes, old: str, new: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / 'script'
            path.write_bytes(body)
            relocate_script(path, old, new)
            return path.read_bytes()

    def test_replaces_the_interpreter_whatever_form_the_line_has(self) -> None:
        rest = b'import sys\n'
        long = '/' + 'd' * 200 + '/bin/python'
        for old in ('/old/bin/python', '/old/with space/bin/python', long):
            for new in ('/new/bin/python', '/new/with space/bin/python', long + '2'):
                written = self.relocated(b'#!/x\n' + rest, '/x', old)
                self.assertEqual(self.relocated(written, old, '/y'), b'#!/y\n' + rest)
                moved = self.relocated(written, old, new)
                self.assertIn(new.encode(), moved)
                self.assertTrue(moved.endswith(rest))
                self.assertLess(len(moved.split(b'\n')[0]), 128)

    def test_leaves_other_files_unchanged(self) -> None:
        for script in (b'\x7fELF', b'#!/bin/bash\n/old/bin/python\n', b''):
            self.assertEqual(self.relocated(script, '/old/bin/python', '/new/bin/python'), script)


class CacheTest(unittest.TestCase):
    """A whole environment, stored and restored over HTTP."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.bucket = FakeStorage()
        self.addCleanup(self.bucket.close)
        self.logged: List[str] = []
        self.venv = self.folder / 'first'
        create_venv(self.venv)
        self.add('alpha', {'alpha.py': b'A = 1\n', 'alpha/large.bin': LARGE, 'alpha/empty': b''})

    def add(self, name: str, files: Dict[str, bytes], tag: str = 'py3-none-any', requires: str = '') -> None:
        library = site_packages(self.venv)
        info = f'{name}-1.0.dist-info'
        metadata = {
            f'{info}/METADATA': f'Name: {name}\nVersion: 1.0\n{requires}'.encode(),
            f'{info}/WHEEL': f'Wheel-Version: 1.0\nTag: {tag}\n'.encode(),
        }
        script = {f'../../../bin/{name}': f'#!{self.venv}/bin/python\nprint(1)\n'.encode()}
        for path, body in {**files, **metadata, **script}.items():
            (library / path).parent.mkdir(parents=True, exist_ok=True)
            (library / path).write_bytes(body)
        (self.venv / 'bin' / name).chmod(0o755)
        names = [*files, *metadata, *script, f'{info}/RECORD']
        (library / info / 'RECORD').write_text(''.join(f'{path},,\n' for path in names))

    def cache(self, **changes: object) -> EnvironmentCache:
        location = CacheLocation(f'gs://{BUCKET}/environments-2', 7 * 86_400, 10**9)
        policy = RetryPolicy(2, 1)
        cache = EnvironmentCache(
            self.bucket.connect(), location, Author('job', 1), True, policy, lambda line, _: self.logged.append(line)
        )
        return replace(cache, **changes)

    def store(self, cache: Optional[EnvironmentCache] = None) -> str:
        environment = describe_environment(self.venv, list_distributions(self.venv), ('trainer',))
        return (cache or self.cache()).store(KEY, environment)(RetryPolicy(2, 1))

    def restore(self, name: str = 'second', cache: Optional[EnvironmentCache] = None) -> bool:
        create_venv(self.folder / name)
        return (cache or self.cache()).restore(KEY, self.folder / name, create_venv)

    def entries(self) -> List[StoredObject]:
        return sorted(self.bucket.objects.values(), key=lambda one: one.created_at)

    def change(self, stored: StoredObject, **changes: Any) -> None:
        changed = replace(stored, **changes)
        del self.bucket.objects[stored.name]
        self.bucket.objects[changed.name] = changed

    def fill(self, archive: bytes, name: str = '', age_seconds: float = 0) -> None:
        """Stores what no agent has packed, under the digest that it has."""
        name = name or f'environments-2/{KEY}/any-{hashlib.sha256(archive).hexdigest()}.tar'
        self.change(self.bucket.put(name, archive, 9), created_at=time.time() - age_seconds)

    def test_restores_every_file_with_its_mode_time_and_interpreter(self) -> None:
        self.assertIn('Stored the environment of 1 packages', self.store())
        self.assertTrue(self.restore())
        old, new = site_packages(self.venv), site_packages(self.folder / 'second')
        for name in ('alpha.py', 'alpha/large.bin', 'alpha/empty', 'alpha-1.0.dist-info/RECORD'):
            self.assertEqual((new / name).read_bytes(), (old / name).read_bytes())
            # Python compares them with the seconds that compiled files have.
            self.assertEqual(int((new / name).stat().st_mtime), int((old / name).stat().st_mtime))
        script = self.folder / 'second' / 'bin' / 'alpha'
        self.assertTrue(script.stat().st_mode & stat.S_IXUSR)
        self.assertEqual(script.read_text(), f'#!{self.folder}/second/bin/python\nprint(1)\n')
        self.assertRegex(self.logged[-1], r'^Restored the environment of 1 packages \(8 MB, .* in \d+\.\d s\.$')

    def test_finds_nothing_in_an_empty_bucket(self) -> None:
        self.assertFalse(self.restore())
        self.assertEqual(self.logged, [])

    def test_uses_no_archive_that_is_cut_off_has_other_bytes_or_is_none(self) -> None:
        self.store()
        (stored,) = self.entries()
        middle = len(stored.body) // 2
        changed = stored.body[:middle] + bytes([stored.body[middle] ^ 1]) + stored.body[middle + 1 :]
        for body in (b'', stored.body[:-1], stored.body[:middle], changed, os.urandom(5_000)):
            with self.subTest(bytes=len(body)):
                self.bucket.put(stored.name, body, 9)
                self.assertFalse(self.restore('broken'))
                self.assertIn('is not used', self.logged[-1])
                self.assertEqual(list_distributions(self.folder / 'broken'), frozenset())
        self.bucket.objects[stored.name] = stored
        self.assertTrue(self.restore())

    def test_writes_nothing_outside_of_the_environment(self) -> None:
        outside = self.folder / 'outside'
        link = tarfile.TarInfo('lib/link')
        link.type, link.linkname = tarfile.SYMTYPE, str(self.folder)
        self.addCleanup(os.environ.pop, 'TAR_OPTIONS', None)
        os.environ['TAR_OPTIONS'] = '--absolute-names'
        for members in (['../outside'], [str(outside)], [link, 'lib/link/outside']):
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode='w') as archive:
                for member in members:
                    archive.addfile(tarfile.TarInfo(member) if isinstance(member, str) else member)
            self.bucket.objects.clear()
            self.fill(packed.getvalue())
            self.assertFalse(self.restore())
            self.assertFalse(outside.exists())

    def test_uses_the_first_entry_of_a_week_whatever_was_stored_before_and_deleted(self) -> None:
        self.store()
        (stored,) = self.entries()
        week = 7 * 86_400
        self.change(stored, created_at=time.time() - week)
        self.assertFalse(self.restore('old'))
        self.fill(b'of the week before', age_seconds=week)
        self.fill(b'of the one before that', age_seconds=2 * week)
        self.assertEqual(self.logged[1:], [])
        (site_packages(self.venv) / 'alpha.py').write_bytes(b'A = 2\n')
        self.assertIn('Stored', self.store())
        self.assertTrue(self.restore('new'))
        for name in [one.name for one in self.entries()[:-1]]:
            del self.bucket.objects[name]
            self.assertTrue(self.restore('new'))

    def test_no_archive_stored_later_precedes_the_first_one(self) -> None:
        self.store()
        self.fill(b'poison')
        self.assertTrue(self.restore())
        self.fill(b'poison', f'environments-2/{KEY}/any-{"0" * 64}.tar')
        self.fill(b'poison', f'environments-2/{KEY}/first')
        self.assertTrue(self.restore('third'))
        # So many that the first one may not be among those that are listed.
        for number in range(100):
            self.fill(b'poison', f'environments-2/{KEY}/aaa-{number}')
        self.assertFalse(self.restore('fourth'))
        self.assertIn('more than 100 objects', self.logged[-1])

    def test_an_entry_that_cannot_be_restored_is_stored_again_beside_it(self) -> None:
        self.store()
        (first,) = self.entries()
        self.change(first, body=b'damaged')
        cache = self.cache()
        self.assertFalse(self.restore('broken', cache))
        self.assertIn('Another VM', self.store())
        (site_packages(self.venv) / 'alpha.py').write_bytes(b'A = 2\n')
        self.assertIn('Stored', self.store(cache))
        # Every job tries the first one first.
        self.assertTrue(self.restore('repaired'))
        self.assertEqual((site_packages(self.folder / 'repaired') / 'alpha.py').read_bytes(), b'A = 2\n')
        self.change(self.entries()[-1], body=b'damaged, too')
        cache = self.cache()
        self.assertFalse(self.restore('both', cache))
        self.assertIn('Another VM', self.store(cache))

    def test_no_failure_of_this_machine_makes_a_second_entry_the_first(self) -> None:
        self.store()
        self.change(self.entries()[0], created_at=time.time() - 60)
        self.fill(self.entries()[0].body + b'\0' * 512)
        first, second = (one.name for one in self.entries())
        tar = self.folder / 'bin' / 'tar'
        tar.parent.mkdir()
        tar.write_text('#!/bin/sh\nkill -9 $$\n')
        tar.chmod(0o755)
        path = os.environ['PATH']
        self.addCleanup(os.environ.__setitem__, 'PATH', path)
        for what in ('tar', 'bucket', 'range', 'space'):
            os.environ['PATH'] = f'{tar.parent}:{path}' if what == 'tar' else path
            self.bucket.reject = lambda request: 503 if request.name == first and what == 'bucket' else None
            self.bucket.ignores_ranges = what == 'range'
            location = replace(self.cache().location, entry_bytes_max=1_000 if what == 'space' else 10**9)
            with self.subTest(what):
                self.assertFalse(self.restore(what, self.cache(location=location)))
                self.assertIn('is not used', self.logged[-1])
                self.assertNotIn(second, [request.name for request in self.bucket.received])

    def test_no_archive_keeps_the_installation_from_running(self) -> None:
        pipe, link = tarfile.TarInfo('dropforge-interpreter'), tarfile.TarInfo('dropforge-interpreter')
        pipe.type, link.type, link.linkname = tarfile.FIFOTYPE, tarfile.SYMTYPE, '/dev/zero'
        for member in (pipe, link, tarfile.TarInfo('../No space left on device')):
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode='w') as archive:
                archive.addfile(member)
            self.bucket.objects.clear()
            self.fill(packed.getvalue())
            with self.subTest(member.name, type=member.type):
                self.assertFalse(self.restore('hostile'))
                self.assertEqual(list_distributions(self.folder / 'hostile'), frozenset())

    def test_stores_no_file_that_the_program_has_changed(self) -> None:
        environment = describe_environment(self.venv, list_distributions(self.venv), ())
        path = site_packages(self.venv) / 'alpha.py'
        before = path.stat()
        path.write_bytes(b'A = 2\n')
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        outcome = self.cache().store(KEY, environment)(RetryPolicy(2, 1))
        self.assertIn('alpha.py has changed', outcome)
        self.assertFalse(self.restore())

    def test_stores_nothing_above_its_limit_or_with_files_outside(self) -> None:
        small = replace(self.cache().location, entry_bytes_max=1_000)
        self.assertIn('an entry may have 1000', self.store(self.cache(location=small)))
        self.add('outside', {'../../../../outside.txt': b'x'})
        with self.assertRaisesRegex(NotCacheable, 'outside the virtual environment'):
            self.store()

    def test_leaves_out_the_own_packages_of_the_job_and_nothing_may_require_them(self) -> None:
        self.add('trainer', {'trainer.py': b''})
        self.store()
        self.restore()
        self.assertFalse((site_packages(self.folder / 'second') / 'trainer.py').exists())
        self.add('beta', {'beta.py': b''}, requires='Requires-Dist: Trainer (>=1)\n')
        with self.assertRaisesRegex(NotCacheable, "requires the job's own package trainer"):
            self.store()

    def test_uses_what_was_compiled_for_another_cpu_on_no_other(self) -> None:
        self.add('native', {'native.so': b'x'}, tag='cp311-cp311-linux_x86_64')
        self.store()
        self.assertTrue(self.restore())
        (stored,) = self.entries()
        self.change(stored, name=stored.name.replace(cpu_features(), 'f' * 64))
        self.assertFalse(self.restore('third'))

    def test_a_bucket_that_rejects_or_fails_is_logged_and_never_raises(self) -> None:
        for status in (403, 503):
            self.bucket.reject = lambda _, status=status: status
            self.assertFalse(self.restore(f'status-{status}'))
            self.assertIn('is not used', self.logged[-1])

    def test_a_machine_without_tar_installs(self) -> None:
        self.store()
        self.addCleanup(os.environ.__setitem__, 'PATH', os.environ['PATH'])
        os.environ['PATH'] = '/nowhere'
        self.assertFalse(self.restore())
        self.assertIn('is not used', self.logged[-1])
        self.assertIn('could not be stored', self.store())

    def test_the_end_of_the_vm_cancels_an_upload_which_leaves_no_entry(self) -> None:
        background = BackgroundStore(lambda line, _: self.logged.append(line))
        environment = describe_environment(self.venv, list_distributions(self.venv), ())
        started = threading.Event()

        def store(policy: RetryPolicy) -> str:
            started.set()
            policy.cancelled.wait()
            return self.cache().store(KEY, environment)(policy)

        background.start(store, installed_seconds=100)
        started.wait()
        background.finish(is_stopping=True)
        while not self.logged:
            time.sleep(0.01)
        self.assertIn('could not be stored', self.logged[-1])
        self.assertFalse(self.restore())

    def test_an_answer_that_was_lost_leaves_one_entry(self) -> None:
        lost = iter((True, False))
        self.bucket.lose_answer = lambda request: request.method == 'POST' and next(lost)
        self.assertIn('Stored', self.store())
        self.assertEqual(len(self.entries()), 1)
        self.assertEqual(sha256_of(self.entry_info()), hashlib.sha256(self.entries()[0].body).hexdigest())

    def entry_info(self) -> ObjectInfo:
        (found,) = self.bucket.connect().list(BUCKET, 'environments-2/', RetryPolicy(1, 1))
        return found


if __name__ == '__main__':
    unittest.main()
