import hashlib
import os
import stat
import sys
import tempfile
import threading
import time
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Dict, List, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from fake_storage import BUCKET, FakeStorage

from vm_agent.cache.entry import (
    PART_BYTES,
    CachedFile,
    InvalidEntry,
    Manifest,
    Part,
    plan_parts,
    read_manifest,
    write_manifest,
)
from vm_agent.cache.environment_cache import EnvironmentCache, Restored
from vm_agent.cache.files import NotCacheable, describe_environment, list_distributions, site_packages
from vm_agent.cache.key import Installation, environment_key, normalize_requirement
from vm_agent.cache.location import WEEK_SECONDS, CacheLocation, current_week
from vm_agent.cache.scripts import relocate_script
from vm_agent.cache.store import BackgroundStore
from vm_agent.http.retry import RetryPolicy
from vm_agent.setup.virtual_environment import create_venv
from vm_agent.storage.client import Author

KEY = 'k' * 64
LARGE = os.urandom(PART_BYTES + 1_000)


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


class EntryTest(unittest.TestCase):
    def test_cuts_only_large_files_and_starts_a_part_with_each(self) -> None:
        sizes = [5, 0, PART_BYTES // 2, PART_BYTES // 2, 2 * PART_BYTES + 3, PART_BYTES, 7]
        files = [CachedFile(str(number), size, 0o644, 1) for number, size in enumerate(sizes)]
        parts = list(plan_parts(files))
        self.assertEqual(
            [[(one.file.path, one.size_bytes) for one in part] for part in parts],
            [
                [('0', 5), ('2', PART_BYTES // 2)],
                [('3', PART_BYTES // 2)],
                [('4', PART_BYTES)],
                [('4', PART_BYTES)],
                [('4', 3)],
                [('5', PART_BYTES)],
                [('6', 7)],
            ],
        )

    def manifest(self, *paths: str, parts: Optional[List[Part]] = None) -> bytes:
        files = tuple(CachedFile(path, 1, 0o644, 1) for path in paths)
        given = (Part('0' * 64, len(files)),) if parts is None else tuple(parts)
        return write_manifest(Manifest(KEY, 1.0, '/venv/bin/python', '', ('a-1',), files, given))

    def test_reads_what_was_written(self) -> None:
        text = self.manifest('lib/a.py', 'lib/b.py')
        self.assertEqual(write_manifest(read_manifest(text, KEY)), text)

    def test_rejects_manifests_that_no_agent_wrote(self) -> None:
        for text in (
            b'',
            b'[]',
            b'[' * 100_000,
            self.manifest('lib/a.py')[:-5],
            self.manifest('lib/a.py').replace(b'"format":1', b'"format":2'),
            self.manifest('/etc/passwd'),
            self.manifest('lib/../../x'),
            self.manifest('a\0b'),
            self.manifest('lib/a.py', 'lib/./a.py'),
            self.manifest('lib/a.py', parts=[]),
            self.manifest('lib/a.py', parts=[Part('0' * 64, 2)]),
        ):
            with self.subTest(text[:200]), self.assertRaises(InvalidEntry):
                read_manifest(text, KEY)
        with self.assertRaises(InvalidEntry):
            read_manifest(self.manifest('lib/a.py'), 'another')


class ScriptTest(unittest.TestCase):
    def test_replaces_the_interpreter_whatever_form_the_line_has(self) -> None:
        rest = b'import sys\n'
        long = '/' + 'd' * 200 + '/bin/python'
        for old in ('/old/bin/python', '/old/with space/bin/python', long):
            for new in ('/new/bin/python', '/new/with space/bin/python', long + '2'):
                written = relocate_script(b'#!/x\n' + rest, '/x', old)
                self.assertEqual(relocate_script(written, old, '/y'), b'#!/y\n' + rest)
                moved = relocate_script(written, old, new)
                self.assertIn(new.encode(), moved)
                self.assertTrue(moved.endswith(rest))
                self.assertLess(len(moved.split(b'\n')[0]), 128)

    def test_leaves_other_files_unchanged(self) -> None:
        for script in (b'\x7fELF', b'#!/bin/bash\n/old/bin/python\n', b''):
            self.assertEqual(relocate_script(script, '/old/bin/python', '/new/bin/python'), script)


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
        self.create(self.venv)
        self.add('alpha', {'alpha.py': b'A = 1\n', 'alpha/large.bin': LARGE, 'alpha/empty': b''})

    def create(self, venv: Path) -> None:
        create_venv(venv)

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
        location = CacheLocation(BUCKET, 'environments-1', 7 * 86_400, 10**9)
        policy = RetryPolicy(2, 1)
        cache = EnvironmentCache(
            self.bucket.connect(), location, Author('job', 1), True, policy, lambda line, _: self.logged.append(line)
        )
        return replace(cache, **changes)

    def store(self, cache: Optional[EnvironmentCache] = None) -> str:
        environment = describe_environment(self.venv, list_distributions(self.venv), ('trainer',))
        return (cache or self.cache()).store(KEY, environment)(RetryPolicy(2, 1))

    def restore(self, name: str = 'second', cache: Optional[EnvironmentCache] = None) -> Restored:
        self.create(self.folder / name)
        return (cache or self.cache()).restore(KEY, self.folder / name)

    def parts(self) -> List[str]:
        return [name for name in self.bucket.objects if '/parts/' in name]

    def entry(self) -> str:
        (name,) = [name for name in self.bucket.objects if '/entries/' in name]
        return name

    def test_restores_every_file_with_its_mode_time_and_interpreter(self) -> None:
        self.assertIn('Stored the environment of 1 packages', self.store())
        self.assertEqual(self.restore(), Restored.YES)
        old, new = site_packages(self.venv), site_packages(self.folder / 'second')
        for name in ('alpha.py', 'alpha/large.bin', 'alpha/empty', 'alpha-1.0.dist-info/RECORD'):
            self.assertEqual((new / name).read_bytes(), (old / name).read_bytes())
            self.assertEqual((new / name).stat().st_mtime_ns, (old / name).stat().st_mtime_ns)
        script = self.folder / 'second' / 'bin' / 'alpha'
        self.assertTrue(script.stat().st_mode & stat.S_IXUSR)
        self.assertEqual(script.read_text(), f'#!{self.folder}/second/bin/python\nprint(1)\n')
        self.assertRegex(self.logged[-1], r'^Restored the environment of 1 packages \(8 MB, .* in \d+\.\d s\.$')

    def test_finds_nothing_in_an_empty_bucket(self) -> None:
        self.assertEqual(self.restore(), Restored.NO)
        self.assertEqual(self.logged, [])

    def test_uses_no_entry_with_a_part_that_has_other_bytes_or_is_missing(self) -> None:
        self.store()
        for name in self.parts():
            stored = self.bucket.objects[name]
            for body in (b'', stored.body[:-1], bytes([stored.body[0] ^ 1]) + stored.body[1:], None):
                with self.subTest(name=name, body=None if body is None else len(body)):
                    if body is None:
                        del self.bucket.objects[name]
                    else:
                        self.bucket.put(name, body, 9)
                    self.assertEqual(self.restore('broken'), Restored.BROKEN)
                    self.assertIn('is not used', self.logged[-1])
            self.bucket.objects[name] = stored
        self.assertEqual(self.restore(), Restored.YES)

    def test_uses_no_manifest_that_was_cut_off_or_is_of_another_environment(self) -> None:
        self.store()
        stored = self.bucket.objects[self.entry()]
        for body in (stored.body[: len(stored.body) // 2], stored.body.replace(KEY.encode(), b'x' * 64)):
            self.bucket.put(stored.name, body, 9)
            self.assertEqual(self.restore(), Restored.NO)
            self.assertIn('is not used', self.logged[-1])

    def test_writes_through_no_link(self) -> None:
        self.store()
        self.create(self.folder / 'second')
        outside = self.folder / 'outside'
        (site_packages(self.folder / 'second') / 'alpha.py').symlink_to(outside)
        self.assertEqual(self.cache().restore(KEY, self.folder / 'second'), Restored.BROKEN)
        self.assertFalse(outside.exists())

    def test_uses_an_entry_until_it_is_a_week_old_also_in_the_week_after(self) -> None:
        self.store()
        stored = self.bucket.objects.pop(self.entry())
        week = current_week(time.time())
        for age_seconds, expected in ((6 * 86_400, Restored.YES), (8 * 86_400, Restored.NO)):
            created_at = time.time() - age_seconds
            manifest = replace(read_manifest(stored.body, KEY), created_at=created_at)
            name = stored.name.replace(f'/{week}/', f'/{week - 1}/')
            self.bucket.put(name, write_manifest(manifest), 9)
            for part in self.parts():
                self.bucket.put(part.replace(f'/{week}/', f'/{week - 1}/'), self.bucket.objects[part].body, 9)
            with self.subTest(age_seconds):
                self.assertEqual(self.restore(f'aged-{age_seconds}'), expected)
        self.assertEqual(WEEK_SECONDS, 7 * 86_400)

    def test_the_first_of_two_writers_wins(self) -> None:
        outcomes: List[str] = []
        writers = [threading.Thread(target=lambda: outcomes.append(self.store())) for _ in range(2)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        self.assertEqual(sum('Another VM' in outcome for outcome in outcomes), 1, outcomes)
        self.assertEqual(self.restore(), Restored.YES)

    def test_an_entry_that_cannot_be_restored_is_stored_again_beside_it(self) -> None:
        self.store()
        del self.bucket.objects[self.parts()[0]]
        cache = self.cache()
        self.assertEqual(self.restore('broken', cache), Restored.BROKEN)
        # A new installation has other times, so its parts have other names.
        (site_packages(self.venv) / 'alpha.py').write_bytes(b'A = 2\n')
        self.assertIn('Another VM', self.store())
        self.assertIn('Stored', self.store(cache))
        # A job that has not seen the first one fail does not use the second one, which any job may have stored.
        self.assertEqual(self.restore('first', self.cache()), Restored.BROKEN)
        self.assertTrue(cache.is_invalid(KEY))
        self.create(self.folder / 'repaired')
        self.assertEqual(cache.restore(KEY, self.folder / 'repaired', is_second=True), Restored.YES)
        self.assertEqual((site_packages(self.folder / 'repaired') / 'alpha.py').read_bytes(), b'A = 2\n')

    def test_continues_an_upload_that_was_cut_off(self) -> None:
        self.store()
        del self.bucket.objects[self.entry()]
        self.assertEqual(self.restore(), Restored.NO)
        uploaded = len(self.bucket.objects)
        self.assertIn('Stored', self.store())
        self.assertEqual(len(self.bucket.objects), uploaded + 1)

    def test_stores_no_file_that_the_program_has_changed(self) -> None:
        environment = describe_environment(self.venv, list_distributions(self.venv), ())
        path = site_packages(self.venv) / 'alpha.py'
        before = path.stat()
        path.write_bytes(b'A = 2\n')
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        outcome = self.cache().store(KEY, environment)(RetryPolicy(2, 1))
        self.assertIn('alpha.py has changed', outcome)
        self.assertEqual(self.restore(), Restored.NO)

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
        self.assertEqual(self.restore(), Restored.YES)
        stored = self.bucket.objects[self.entry()]
        manifest = replace(read_manifest(stored.body, KEY), cpu='another')
        self.bucket.put(stored.name, write_manifest(manifest), 9)
        self.assertEqual(self.restore('third'), Restored.NO)

    def test_a_bucket_that_rejects_or_fails_is_logged_and_never_raises(self) -> None:
        for status in (403, 503):
            self.bucket.reject = lambda _, status=status: status
            self.assertEqual(self.restore(f'status-{status}'), Restored.NO)
            self.assertIn('is not used', self.logged[-1])

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
        self.assertEqual(self.restore(), Restored.NO)

    def test_names_parts_by_their_content(self) -> None:
        self.store()
        for name in self.parts():
            self.assertEqual(name.rsplit('/', 1)[1], hashlib.sha256(self.bucket.objects[name].body).hexdigest())


if __name__ == '__main__':
    unittest.main()
