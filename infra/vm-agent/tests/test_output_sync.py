import os
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.storage.directory.manifest import Manifest, decode_manifest, encode_manifest
from vm_agent.storage.directory.object_names import MANIFEST_NAME, is_restorable
from vm_agent.storage.output.output_files import scan_output
from vm_agent.storage.transfer.client import Author, ObjectInfo, split_gs_uri

AUTHOR = Author('digits', 3)


def info(name: str, generation: int) -> ObjectInfo:
    return ObjectInfo('bucket', f'p/{name}', str(generation), 1, 'AAAAAA==', None, None)


class ScanTest(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name, 'output')
        self.folder.mkdir()

    def test_finds_files_and_links_inside_but_no_links_outside_and_no_special_files(self) -> None:
        (self.folder / 'deep').mkdir()
        (self.folder / 'deep' / 'model').write_text('m')
        (self.folder / 'latest').symlink_to('deep/model')
        (self.folder / 'leak').symlink_to('/etc/hosts')
        (self.folder / 'round').symlink_to('.', target_is_directory=True)
        os.mkfifo(self.folder / 'pipe')
        (self.folder / MANIFEST_NAME).write_text('forged')
        scan = scan_output(self.folder, 'p/')
        self.assertEqual(sorted(scan.files), ['deep/model', 'latest'])
        self.assertEqual(len(scan.skipped), 2)

    def test_skips_names_that_no_object_can_have(self) -> None:
        (self.folder / ('d' * 200)).mkdir()
        (self.folder / ('d' * 200) / ('f' * 200)).write_text('')
        (self.folder / 'line\nend').write_text('')
        self.assertEqual(scan_output(self.folder, 'p' * 1_000 + '/').files, {})
        self.assertEqual(len(scan_output(self.folder, 'p/').files), 1)

    def test_restores_no_name_that_leads_outside_or_is_reserved(self) -> None:
        for name in ('../x', '/x', 'a//b', 'a/../b', './a', 'a/', '', MANIFEST_NAME, 'packages/x'):
            self.assertFalse(is_restorable(name), name)
        self.assertTrue(is_restorable('a/b..c/.d'))


class FormatTest(unittest.TestCase):
    def test_decodes_the_manifest_that_it_encoded_and_rejects_any_other(self) -> None:
        manifest = Manifest(AUTHOR, {'a': info('a', 7), 'b': replace(info('b', 8), modified_ns=9)}, {'loss': 3})
        self.assertEqual(decode_manifest(encode_manifest(manifest), 'bucket', 'p/'), manifest)
        reports = b'{"a": 3, "b": 1e999, "c": null, "d": -1, "e": 1.5, "f": ' + b'9' * 400 + b'}'
        for given, expected in ((reports, {'a': 3}), (b'null', {}), (b'[]', {}), (b'NaN', {}), (b'"x"', {})):
            body = b'{"jobId": "digits", "attempt": 3, "files": {}, "reports": ' + given + b'}'
            self.assertEqual(decode_manifest(body, 'bucket', 'p/'), Manifest(AUTHOR, {}, expected))
        for body in (b'', b'[]', b'{"attempt": 1}', b'{"attempt": 1, "files": []}'):
            with self.assertRaises(ValueError):
                decode_manifest(body, 'bucket', 'p/')

    def test_splits_gs_uris(self) -> None:
        self.assertEqual(split_gs_uri('gs://bucket/a/b'), ('bucket', 'a/b'))
        self.assertEqual(split_gs_uri('gs://bucket'), ('bucket', ''))
        with self.assertRaises(ValueError):
            split_gs_uri('s3://bucket/a')


if __name__ == '__main__':
    unittest.main()
