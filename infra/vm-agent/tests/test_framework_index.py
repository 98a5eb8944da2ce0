"""Finds checkpoints that lack files that their index names. The index is the program's, and may be anything."""

import builtins
import json
import os
import pickle
import sys
import unittest
from pathlib import Path
from typing import Any, Dict, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.storage.cluster.framework_index import INDEX_BYTES_MAX, Incomplete, find_incomplete, index_names
from vm_agent.storage.cluster.pickle_reader import read_pickle

INDEXES = Path(__file__).parent / 'indexes'
# The sizes that the files beside the indexes had.
SHARDS: Dict[str, Dict[str, int]] = {
    'fsdp': {'__0_0.distcp': 18924, '__1_0.distcp': 30905, '__2_0.distcp': 28940},
    'threads': {'__0_0.distcp': 8262, '__0_1.distcp': 8578, '__1_0.distcp': 10155, '__1_1.distcp': 14886},
    'single': {'__0_0.distcp': 4099},
}
TABLE_END = bytes.fromhex('57fb808b247547db')


class StorageInfo:
    """Has the attributes of torch's class."""

    def __init__(self, relative_path: Any, offset: Any, length: Any) -> None:
        self.relative_path = relative_path
        self.offset = offset
        self.length = length


class Metadata:
    def __init__(self, *infos: StorageInfo) -> None:
        self.storage_data: Any = {('parameter', number): info for number, info in enumerate(infos)}


class Call:
    """Is pickled as a call."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.reduced = (function, arguments)

    def __reduce__(self) -> Any:
        return self.reduced


def find(contents: Dict[str, bytes], sizes: Dict[str, int]) -> Dict[str, Incomplete]:
    files = {**sizes, **{name: len(content) for name, content in contents.items()}}
    return find_incomplete(files, contents.get)


def find_missing(index: str, content: bytes, **sizes: int) -> Optional[Any]:
    found = find({index: content}, sizes).get(index)
    return None if found is None else found.missing


class TorchTest(unittest.TestCase):
    def test_a_checkpoint_is_complete_with_every_byte_that_its_index_names(self) -> None:
        for index in sorted(INDEXES.glob('*.metadata')):
            with self.subTest(index.name):
                shards = {f'a/step_5/{name}': size for name, size in SHARDS[index.stem.split('-')[2]].items()}
                contents = {'a/step_5/.metadata': index.read_bytes()}
                self.assertEqual(find(contents, shards), {})
                self.assertEqual(find(contents, {**shards, 'a/step_5/meta.pt': 1, 'b/__0_0.distcp': 0}), {})
                for name, size in shards.items():
                    incomplete = Incomplete(frozenset({*shards, *contents}), (name,))
                    without = {other: at for other, at in shards.items() if other != name}
                    self.assertEqual(find(contents, without), {'a/step_5/.metadata': incomplete})
                    self.assertEqual(find(contents, {**shards, name: size - 1}), {'a/step_5/.metadata': incomplete})

    def test_there_are_fixtures_of_two_versions(self) -> None:
        self.assertEqual(len(list(INDEXES.glob('*.metadata'))), 6)

    def test_every_protocol_of_pickle_is_read(self) -> None:
        metadata = Metadata(StorageInfo('a', 0, 5), StorageInfo('b', 7, 2**40), StorageInfo('a', 3, 3))
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            with self.subTest(protocol):
                content = pickle.dumps(metadata, protocol)
                self.assertEqual(find_missing('.metadata', content, a=5, b=2**40 + 7), ('a',))
                self.assertEqual(find_missing('.metadata', content, a=6, b=2**40 + 6), ('b',))
                self.assertIsNone(find_missing('.metadata', content, a=6, b=2**40 + 7))

    def test_the_index_of_one_rank_alone_is_left_alone(self) -> None:
        content = pickle.dumps(Metadata(StorageInfo('a', 0, 5)))
        self.assertEqual(index_names(['c/.metadata', 'c/__0.metadata', 'c/x.metadata']), ['c/.metadata'])
        self.assertIsNone(find_missing('__0.metadata', content))

    def test_nothing_is_said_of_an_index_that_cannot_be_read_here(self) -> None:
        self.assertEqual(find_incomplete({'.metadata': 10}, lambda _: None), {})

    def test_a_path_that_leaves_the_folder_is_ignored(self) -> None:
        paths = ('../a', '/etc/passwd', '..', '.', '', 'b/../../a', '//x', 'a\0b', 'a\nb', 'a\ud800')
        for folder in ('', 'c/', 'c/d/'):
            content = pickle.dumps(Metadata(*(StorageInfo(path, 0, 5) for path in (*paths, 'b/../x', '..y'))))
            self.assertEqual(find_missing(f'{folder}.metadata', content), (f'{folder}..y', f'{folder}x'))


class HostilePickleTest(unittest.TestCase):
    def test_nothing_that_a_pickle_names_is_imported_or_called(self) -> None:
        marker = INDEXES / 'called'
        self.addCleanup(lambda: marker.unlink(missing_ok=True))
        touch = f'open({str(marker)!r}, "w")'
        for function in (exec, eval, os.system, builtins.open):
            arguments = (f'touch {marker}',) if function is os.system else (touch,)
            arguments = (str(marker), 'w') if function is builtins.open else arguments
            metadata = Metadata(StorageInfo('a', 0, 5))
            metadata.storage_data[Call(function, *arguments)] = StorageInfo(Call(function, *arguments), 0, 5)
            self.assertIsNone(find_missing('.metadata', pickle.dumps(metadata)))
            metadata.storage_data = {Call(function, *arguments): StorageInfo('b', 0, 5)}
            self.assertEqual(find_missing('.metadata', pickle.dumps(metadata)), ('b',))
        self.assertIsNone(find_missing('.metadata', b'\x80\x04cantigravity\nx\n)R.'))
        self.assertNotIn('antigravity', sys.modules)
        self.assertFalse(marker.exists())

    def test_no_content_ends_in_an_exception(self) -> None:
        whole = (INDEXES / 'torch-2.14-fsdp.metadata').read_bytes()
        contents = [whole[:length] for length in range(0, len(whole), 97)]
        contents += [whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :] for at in range(0, len(whole), 53)]
        contents += [b'', b'.', b'N.', b'\x80\x04).', b'0.', b'\x81.', b'h\x05.', b't.', b'\xff']
        contents += [pickle.dumps(value) for value in (1, {}, 'x', {'storage_data': 1}, Metadata())]
        contents += [pickle.dumps(Metadata(StorageInfo(*values))) for values in ((1, 0, 5), ('a', 'b', 1), ('a', None, 1))]
        for content in contents:
            for name in ('.metadata', 'x.index', 'x.bin.index.json'):
                find({name: content}, {})

    def test_neither_depth_nor_size_exhausts_the_agent(self) -> None:
        deep = b'\x80\x04' + b']\x94' * 200_000 + b'a' * 199_999 + b'.'
        self.assertIsNone(read_pickle(deep))
        keys = b'\x80\x04}' + b')' + b'\x85' * 200_000 + b'Ns.'
        self.assertEqual(len(read_pickle(keys)), 2)
        # A memo or a buffer of this size is what they request of Python's own reader.
        for bomb in (b'Nr\xff\xff\xff\xff.', b'\x96' + (2**60).to_bytes(8, 'little'), b'I' + b'9' * 300_000 + b'\n.'):
            self.assertIsNone(find_missing('.metadata', b'\x80\x04' + bomb))
        # Objects that contain one another, and dicts that would double with each copy.
        self.assertIsNone(find_missing('.metadata', b'\x80\x04}\x94}\x94h\x00bh\x00h\x01b.'))
        self.assertIsNone(find_missing('.metadata', b'\x80\x04}\x94' + b'h\x00h\x00b' * 1000 + b'.'))

    def test_a_pickle_of_too_many_objects_is_not_read(self) -> None:
        with self.assertRaisesRegex(ValueError, 'objects'):
            read_pickle(b'\x80\x04' + b'(' * 6_100_000)

    def test_an_index_over_the_limit_is_not_read(self) -> None:
        def read(name: str) -> bytes:
            raise AssertionError(f'{name} was read')

        self.assertEqual(find_incomplete({'.metadata': INDEX_BYTES_MAX + 1}, read), {})


class HuggingFaceTest(unittest.TestCase):
    def test_a_model_is_complete_with_every_file_of_its_weight_map(self) -> None:
        for kind in ('model.safetensors', 'pytorch_model.bin', 'diffusion_pytorch_model.safetensors'):
            index = f'out/checkpoint-5/{kind}.index.json'
            weights = {'a.weight': 'm-1-of-2.safetensors', 'b.weight': 'm-2-of-2.safetensors', 'c': 'm-1-of-2.safetensors'}
            contents = {index: json.dumps({'metadata': {'total_size': 9}, 'weight_map': weights}).encode()}
            one, two = (f'out/checkpoint-5/m-{number}-of-2.safetensors' for number in (1, 2))
            self.assertEqual(find(contents, {one: 0, two: 3}), {})
            self.assertEqual(find(contents, {one: 3}), {index: Incomplete(frozenset({index, one, two}), (two,))})

    def test_nothing_is_said_of_other_content(self) -> None:
        for body in ('', '[]', '{}', '{"weight_map": 5}', '{"weight_map": {"a": 5}}', '[' * 100_000, '9' * 300_000):
            self.assertIsNone(find_missing('m.safetensors.index.json', body.encode()))


class TensorflowTest(unittest.TestCase):
    def test_a_checkpoint_is_complete_with_all_of_its_data_files(self) -> None:
        # The first entry of an index of TensorFlow: an empty key, then the number of data files and a version.
        content = bytes.fromhex('0000060802' + '1a02080100') + bytes(100) + TABLE_END
        one, two = (f'ckpt-7.data-0000{number}-of-00002' for number in (0, 1))
        self.assertIsNone(find_missing('ckpt-7.index', content, **{one: 1, two: 1}))
        self.assertEqual(find_missing('ckpt-7.index', content, **{one: 1}), (two,))
        self.assertEqual(find_missing('ckpt-7.index', content, **{'ckpt-7.data-00000-of-00001': 1}), (one, two))

    def test_more_than_127_data_files_are_counted(self) -> None:
        content = bytes.fromhex('00000708' + '8102' + '1a02080100') + TABLE_END
        self.assertEqual(len(find_missing('x.index', content) or ()), 257)

    def test_nothing_is_said_of_other_files_of_that_name(self) -> None:
        for content in (b'', b'IxFI' + bytes(100), bytes.fromhex('0000060802'), bytes(100) + TABLE_END):
            self.assertIsNone(find_missing('vectors.index', content))


if __name__ == '__main__':
    unittest.main()
