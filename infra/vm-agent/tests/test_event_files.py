import json
import math
import os
import random
import struct
import sys
import tempfile
import tracemalloc
import unittest
from pathlib import Path
from typing import List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import event_files as written
from event_files import event, record, scalar_file, simple_value, tensor, tensor_value
from fake_storage import FakeStorage
from vm_agent.http.request import RESPONSE_BYTES_MAX
from vm_agent.metrics.samples.records import Sample
from vm_agent.metrics.sources.bucket_events import BucketEvents
from vm_agent.metrics.sources.event_file import RECORD_BYTES_MAX, read_scalars
from vm_agent.metrics.sources.event_folder import EventFolder
from vm_agent.metrics.sources.event_protobuf import scalars_of
from vm_agent.storage.directory.job_directory import JobDirectory
from vm_agent.storage.transfer.client import Author

BYTES_MAX = 1 << 30


def read(data: bytes, offset: int = 0, bytes_max: int = BYTES_MAX) -> Tuple[List[Tuple[str, int, float]], int]:
    scalars, end = read_scalars(lambda start, size: data[start : start + size], offset, bytes_max)
    return [(one.tag, one.step, one.value) for one in scalars], end


def value_of(encoded: bytes) -> List[float]:
    return [scalar.value for scalar in scalars_of(event(tensor_value('loss', encoded), 1))]


class EventTest(unittest.TestCase):
    def test_reads_a_value_of_every_encoding(self) -> None:
        content, packed = written.content, written.packed
        half, brain = struct.pack('<e', 0.375), struct.pack('<f', 0.375)[2:]
        for encoded, value in (
            (tensor(written.FLOAT, content(5, struct.pack('<f', 0.375))), 0.375),
            (tensor(written.FLOAT, content(4, struct.pack('<f', 0.375))), 0.375),
            (tensor(written.FLOAT, written.fixed32(5, 0.375)), 0.375),
            (tensor(written.DOUBLE, content(4, struct.pack('<d', 0.1))), 0.1),
            (tensor(written.DOUBLE, written.fixed64(6, 0.1)), 0.1),
            (tensor(written.INT32, content(7, packed(-3))), -3),
            (tensor(written.INT32, written.number(7, -3)), -3),
            (tensor(written.INT64, content(10, packed(-(1 << 40)))), -(1 << 40)),
            (tensor(written.INT64, content(4, struct.pack('<q', -5))), -5),
            (tensor(written.HALF, content(4, half)), 0.375),
            (tensor(written.HALF, content(13, packed(int.from_bytes(half, 'little')))), 0.375),
            (tensor(written.BFLOAT16, content(4, brain)), 0.375),
            (tensor(written.FLOAT, b''), 0.0),
            (tensor(written.FLOAT, content(4, struct.pack('<f', 0.9))), 0.9),
            (tensor(written.FLOAT, content(4, struct.pack('<f', 1 / 3))), 0.33333334),
        ):
            with self.subTest(encoded=encoded):
                self.assertEqual(value_of(encoded), [value])

    def test_ignores_tensors_that_are_not_one_number(self) -> None:
        number = written.content(5, struct.pack('<f', 1.0))
        self.assertEqual(value_of(tensor(written.FLOAT, number, dimension_count=1)), [])
        self.assertEqual(value_of(tensor(written.STRING, written.content(8, b'text'))), [])

    def test_reads_several_values_of_one_event_with_its_step_and_time(self) -> None:
        values = simple_value('loss', 0.5) + written.content(1, b'') + simple_value('accuracy', math.inf)
        found = scalars_of(event(values, -1, 1_700_000_000.25))
        self.assertEqual([(one.tag, one.step, one.wall_time, one.value) for one in found], [
            ('loss', -1, 1_700_000_000.25, 0.5),
            ('accuracy', -1, 1_700_000_000.25, math.inf),
        ])

    def test_returns_nothing_for_bytes_that_are_no_event(self) -> None:
        generator = random.Random(1)
        valid = event(simple_value('loss', 0.5), 3)
        for _ in range(3_000):
            damaged = bytearray(valid if generator.random() < 0.5 else generator.randbytes(60))
            for _ in range(generator.randrange(4)):
                damaged[generator.randrange(len(damaged))] = generator.randrange(256)
            for scalar in scalars_of(bytes(damaged[: generator.randrange(len(damaged))])):
                self.assertIsInstance(scalar.value, float)


class EventFileTest(unittest.TestCase):
    def test_goes_on_after_a_cut_at_any_byte(self) -> None:
        data = scalar_file('loss', [0.5, 0.25, 0.125])
        whole, end = read(data)
        self.assertEqual((whole, end), ([('loss', 1, 0.5), ('loss', 2, 0.25), ('loss', 3, 0.125)], len(data)))
        for cut in range(len(data)):
            first, at = read(data[:cut])
            rest, _ = read(data, at)
            self.assertEqual(first + rest, whole, cut)

    def test_skips_a_record_whose_data_are_damaged(self) -> None:
        data = bytearray(scalar_file('loss', [0.5, 0.25, 0.125]))
        data[data.index(struct.pack('<f', 0.25))] ^= 1
        self.assertEqual(read(bytes(data))[0], [('loss', 1, 0.5), ('loss', 3, 0.125)])

    def test_finds_the_next_record_after_garbage(self) -> None:
        garbage = random.Random(2).randbytes(5_000)
        data = scalar_file('loss', [0.5]) + garbage + scalar_file('loss', [0.25], first_step=2)
        self.assertEqual(read(data)[0], [('loss', 1, 0.5), ('loss', 2, 0.25)])

    def test_finds_nothing_in_garbage_and_zeros_in_bounded_time(self) -> None:
        for data in (random.Random(3).randbytes(1_000_000), bytes(1_000_000), b'{"loss": 1}\n' * 9):
            scalars, end = read(data)
            self.assertEqual(scalars, [])
            self.assertLess(end, 40_000)

    def test_skips_large_records_without_reading_them(self) -> None:
        image = record(b'\x2a' + bytes(3 * RECORD_BYTES_MAX))
        data = scalar_file('loss', [0.5]) + image + scalar_file('loss', [0.25], first_step=2)
        tracemalloc.start()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, 'events')
            path.write_bytes(data)
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            with open(path, 'rb') as file:
                scalars, _ = read_scalars(lambda start, size: os.pread(file.fileno(), size, start), 0, BYTES_MAX)
            _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self.assertEqual([one.value for one in scalars], [0.5, 0.25])
        self.assertLess(peak - before, RECORD_BYTES_MAX)

    def test_waits_for_the_end_of_a_large_record(self) -> None:
        image = record(b'\x2a' + bytes(RECORD_BYTES_MAX))
        self.assertEqual(read(image[:-1]), ([], 0))
        self.assertEqual(read(image), ([], len(image)))

    def test_reads_a_part_at_a_time(self) -> None:
        data = scalar_file('loss', [float(step) for step in range(1_000)])
        offset, seen = 0, []
        while offset < len(data):
            scalars, offset = read(data, offset, 1_000)
            self.assertLess(len(scalars), 50)
            seen += scalars
        self.assertEqual(seen, read(data)[0])


class EventFolderTest(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name, 'output')
        self.events = EventFolder(self.folder)

    def write(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def values(self, is_last: bool = False) -> List[Tuple[str, float, float]]:
        return [(one.name, one.step or 0.0, one.value) for one in self.events.read(is_last) if not one.is_shadowed]

    def series(self) -> List[Tuple[str, float]]:
        return sorted((one.series, one.value) for one in self.events.read())

    def test_follows_all_files_below_the_folder_as_they_grow(self) -> None:
        self.assertEqual(self.values(), [])
        data = scalar_file('loss', [0.5, 0.25])
        path = self.write('logs/run/events.out.tfevents.1.host', data[:-5])
        self.write('other/deep/er/events.out.tfevents.2.host', scalar_file('accuracy', [0.75]))
        self.write('model.bin', scalar_file('hidden', [1.0]))
        self.assertEqual(sorted(self.values()), [('accuracy', 1, 0.75), ('loss', 1, 0.5)])
        path.write_bytes(data)
        self.assertEqual(self.values(), [('loss', 2, 0.25)])
        self.assertEqual(self.values(), [])

    def test_begins_again_with_a_file_that_was_replaced_or_truncated(self) -> None:
        path = self.write('events.out.tfevents.1', scalar_file('loss', [0.5, 0.25]))
        self.values()
        path.write_bytes(scalar_file('loss', [0.125]))
        self.assertEqual(self.values(), [('loss', 1, 0.125)])
        other = self.write('new', scalar_file('loss', [1.0, 2.0, 3.0]))
        os.replace(other, path)
        self.assertEqual(len(self.values()), 3)

    def test_skips_what_earlier_attempts_wrote(self) -> None:
        path = self.write('events.out.tfevents.1', scalar_file('loss', [0.5]))
        self.events.skip_existing()
        with open(path, 'ab') as file:
            file.write(scalar_file('loss', [0.25], first_step=2))
        self.assertEqual(self.values(), [('loss', 2, 0.25)])

    def test_of_one_tag_the_evaluation_counts(self) -> None:
        self.write('train/events.out.tfevents.1', scalar_file('epoch_loss', [0.5]))
        self.write('validation/events.out.tfevents.1', scalar_file('epoch_loss', [0.75]))
        self.assertEqual(self.values(), [('epoch_loss', 1, 0.75)])
        self.write('train/events.out.tfevents.2', scalar_file('epoch_loss', [0.4], first_step=2))
        self.write('eval_holdout/events.out.tfevents.2', scalar_file('loss', [0.9]))
        self.write('events.out.tfevents.3', scalar_file('loss', [0.1]) + scalar_file('lr', [0.01]))
        self.assertEqual(sorted(self.values()), [('loss', 1, 0.9), ('lr', 1, 0.01)])

    def test_the_history_has_every_run_of_a_tag_under_a_name_of_its_own(self) -> None:
        self.write('logs/train/events.out.tfevents.1', scalar_file('epoch_loss', [0.5]))
        self.write('logs/validation/events.out.tfevents.1', scalar_file('epoch_loss', [0.75]))
        self.assertEqual(self.series(), [('train/epoch_loss', 0.5), ('validation/epoch_loss', 0.75)])
        self.write('runs/1/events.out.tfevents.1', scalar_file('loss', [0.1]))
        self.assertEqual(self.series(), [('loss', 0.1)])
        self.write('runs/2/events.out.tfevents.1', scalar_file('loss', [0.2]))
        state = json.loads(json.dumps(self.events.to_json()))
        self.events = EventFolder(self.folder)
        self.events.restore(state)
        self.assertEqual(self.series(), [('2/loss', 0.2)])
        self.write('runs/1/events.out.tfevents.2', scalar_file('loss', [0.3]))
        self.assertEqual(self.series(), [('loss', 0.3)])

    def test_reads_the_rest_of_many_bytes_when_the_program_has_ended(self) -> None:
        image = record(b'\x2a' + bytes(RECORD_BYTES_MAX))
        self.write('events.out.tfevents.1', image * 5 + scalar_file('loss', [0.5]))
        self.assertEqual(self.values(), [])
        self.assertTrue(self.events.is_behind)
        values = []
        while self.events.is_behind:
            values = self.values(is_last=True)
        self.assertEqual(values, [('loss', 1, 0.5)])

    def test_ignores_links_unreadable_files_and_damaged_ones(self) -> None:
        outside = self.write('../events.out.tfevents.0', scalar_file('loss', [0.5]))
        self.write('events.out.tfevents.1', random.Random(4).randbytes(100_000))
        (self.folder / 'events.out.tfevents.2').symlink_to(outside)
        (self.folder / 'loop').symlink_to(self.folder, target_is_directory=True)
        (self.folder / 'tfevents').mkdir()
        self.assertEqual(self.values(), [])
        self.write('events.out.tfevents.3', scalar_file('loss', [0.25]))
        self.assertEqual(self.values(), [('loss', 1, 0.25)])

    def test_goes_on_after_a_reboot(self) -> None:
        path = self.write('events.out.tfevents.1', scalar_file('loss', [0.5]))
        self.values()
        with open(path, 'ab') as file:
            file.write(scalar_file('loss', [0.25], first_step=2))
        state = self.events.to_json()
        self.events = EventFolder(self.folder)
        self.events.restore(state)
        self.assertEqual(self.values(), [('loss', 2, 0.25)])


class BucketEventsTest(unittest.TestCase):
    NAME = 'digits/7/logs/events.out.tfevents.1'

    def setUp(self) -> None:
        self.server = FakeStorage()
        self.addCleanup(self.server.close)
        storage = self.server.connect()
        self.events = BucketEvents(JobDirectory(storage, 'gs://jobs/digits/7', Author('digits_trial_7', 1)))

    def values(self) -> List[Sample]:
        self.events.finish()
        return [Sample(one.name, one.value, one.step) for one in self.events.read() if not one.is_shadowed]

    def test_reads_what_a_new_generation_adds(self) -> None:
        data = scalar_file('loss', [0.5])
        self.server.put(self.NAME, data, 1)
        self.assertEqual(self.values(), [Sample('loss', 0.5, 1)])
        self.assertEqual(self.values(), [])
        self.server.put(self.NAME, data + scalar_file('loss', [0.25], first_step=2), 2)
        self.assertEqual(self.values(), [Sample('loss', 0.25, 2)])
        downloads = [one for one in self.server.received if one.name == self.NAME]
        self.assertEqual([one.start for one in downloads], [0, len(data)])

    def test_reads_no_other_objects_and_none_that_the_agent_has_uploaded(self) -> None:
        data = scalar_file('loss', [0.5])
        self.server.put(self.NAME, data, 1, Author('digits_trial_7', 1))
        self.server.put('digits/7/packages/events.out.tfevents.1', data, 1)
        self.server.put('digits/8/events.out.tfevents.1', data, 1)
        self.server.put('digits/7/model', data, 1)
        self.assertEqual(self.values(), [])
        self.assertEqual([one for one in self.server.received if one.name], [])

    def test_skips_events_of_earlier_attempts(self) -> None:
        self.server.put(self.NAME, scalar_file('loss', [0.5, 0.25], wall_time=1_000.0), 1)
        self.events.start(3_600.0, 1_001.5, lambda: False)
        self.assertEqual(self.values(), [Sample('loss', 0.25, 2)])

    def test_a_rejected_request_is_made_again_in_the_next_round(self) -> None:
        self.server.put(self.NAME, scalar_file('loss', [0.5]), 1)
        self.server.reject = lambda received: 403 if received.name else None
        self.assertEqual(self.values(), [])
        self.server.reject = lambda _: None
        self.assertEqual(self.values(), [Sample('loss', 0.5, 1)])

    def test_of_an_object_that_is_sent_whole_no_more_is_read_than_was_asked_for(self) -> None:
        self.server.put(self.NAME, scalar_file('loss', [0.5]) + bytes(RESPONSE_BYTES_MAX), 1)
        self.server.put(f'{self.NAME}.next', scalar_file('accuracy', [0.25]), 1)
        self.server.ignores_ranges = True
        self.assertEqual(self.values(), [Sample('loss', 0.5, 1), Sample('accuracy', 0.25, 1)])

    def test_of_one_tag_the_evaluation_counts(self) -> None:
        self.server.put('digits/7/events.out.tfevents.1', scalar_file('loss', [0.1]), 1)
        self.server.put('digits/7/eval/events.out.tfevents.2', scalar_file('loss', [0.9]), 1)
        self.assertEqual(self.values(), [Sample('loss', 0.9, 1)])


if __name__ == '__main__':
    unittest.main()
