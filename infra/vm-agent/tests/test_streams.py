import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import List, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.crc32c import encode, extend_in_python
from vm_agent.line_splitter import LINE_CHARS_MAX, LineSplitter
from vm_agent.log_entries import LogLine, to_entry
from vm_agent.log_shipper import BATCH_ENTRIES_MAX, EntriesRefused, LogPolicy, LogShipper, LogsRefused, encode_batch
from vm_agent.output_tail import TAIL_CHARS_MAX, OutputTail
from vm_agent.progress import ProgressReader, parse_record
from vm_agent.retry import PassingFault, Patience, call_patiently
from vm_agent.usage import CpuTimes, cpu_fraction, measure_tree, parse_gpus


def split(*chunks: bytes) -> List[str]:
    splitter = LineSplitter()
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    return [*lines, *splitter.finish()]


class LineSplitterTest(unittest.TestCase):
    def test_joins_what_arrives_in_pieces(self) -> None:
        self.assertEqual(split(b'a', b'b\nc', b'\n\nd'), ['ab', 'c', '', 'd'])
        self.assertEqual(split('zwölf\n'.encode()[:3], 'zwölf\n'.encode()[3:]), ['zwölf'])
        self.assertEqual(split(b'\xff\n'), ['\ufffd'])

    def test_shows_the_last_state_of_a_progress_bar(self) -> None:
        self.assertEqual(split(b' 1%\r 2%\r', b' 3%\r100%\n'), ['100%'])
        self.assertEqual(split(b'one\r', b'\ntwo\r\n'), ['one', 'two'])

    def test_cuts_a_line_without_end(self) -> None:
        lines = split(*[b'x' * 10_000] * 5)
        self.assertEqual(sum(map(len, lines)), 50_000)
        self.assertTrue(all(len(line) <= LINE_CHARS_MAX for line in lines))
        self.assertEqual(len(split(b'y' * 40_000 + b'\n')), 3)

    def test_tail_keeps_the_newest_within_its_bound(self) -> None:
        tail = OutputTail()
        for number in range(100_000):
            tail.add(f'line {number}')
        self.assertEqual(tail.lines()[-1], 'line 99999')
        self.assertLessEqual(sum(len(line) + 1 for line in tail.lines()), TAIL_CHARS_MAX)


class LogShipperTest(unittest.TestCase):
    def setUp(self) -> None:
        self.batches: List[Sequence[LogLine]] = []

    def ship(self, send: object, lines: int, bytes_max: int = 10_000_000) -> List[str]:
        shipper = LogShipper(LogPolicy('vm-0', 0.01, bytes_max), send)  # type: ignore[arg-type]
        shipper.start()
        for number in range(lines):
            shipper.offer_output('stdout', f'line {number}')
        shipper.close(10)
        return [line.text for batch in self.batches for line in batch]

    def test_goes_on_sending_the_last_lines_while_everything_is_out_of_reach(self) -> None:
        failures = iter(range(6))

        def send(batch: Sequence[LogLine]) -> None:
            if next(failures, None) is not None:
                raise PassingFault('nobody answers')
            self.batches.append(batch)

        for is_cut_off, arrived in ((True, ['last']), (False, [])):
            failures, self.batches = iter(range(4)), []
            shipper = LogShipper(LogPolicy('vm-0', 0.01, 1_000), send)
            shipper.start()
            shipper.offer_output('stdout', 'last')
            shipper.close(0.05, lambda is_cut_off=is_cut_off: is_cut_off and not self.batches)
            self.assertEqual([line.text for batch in self.batches for line in batch], arrived)

    def test_sends_every_line_once_in_order_and_in_bounded_batches(self) -> None:
        self.assertEqual(self.ship(self.batches.append, 2_000), [f'line {number}' for number in range(2_000)])
        self.assertTrue(all(len(batch) <= BATCH_ENTRIES_MAX for batch in self.batches))
        ids = [line.insert_id for batch in self.batches for line in batch]
        self.assertEqual(ids, sorted(set(ids)))

    def test_repeats_the_same_batch_until_it_is_taken(self) -> None:
        seen: List[Sequence[LogLine]] = []

        def send(batch: Sequence[LogLine]) -> None:
            seen.append(batch)
            if len(seen) % 2:
                raise PassingFault('busy')
            self.batches.append(batch)

        self.assertEqual(self.ship(send, 3), ['line 0', 'line 1', 'line 2'])
        self.assertEqual(list(seen[0]), list(seen[1]))

    def test_goes_on_after_a_batch_that_is_refused(self) -> None:
        refused = threading.Event()

        def send(batch: Sequence[LogLine]) -> None:
            if not refused.is_set():
                refused.set()
                raise LogsRefused('400 bad entry')
            self.batches.append(batch)

        shipper = LogShipper(LogPolicy('vm-0', 0.01, 1_000_000), send)
        shipper.start()
        shipper.offer_output('stdout', 'bad')
        self.assertTrue(refused.wait(10))
        shipper.offer_output('stdout', 'good')
        shipper.close(10)
        self.assertEqual([line.text for batch in self.batches for line in batch], ['good'])

    def test_loses_no_line_but_the_one_that_is_refused_and_says_so(self) -> None:
        def send(batch: Sequence[LogLine]) -> None:
            if any(line.text == 'line 317' for line in batch):
                raise EntriesRefused('400 bad entry')
            self.batches.append(batch)

        lines = self.ship(send, 500)
        self.assertEqual(lines[:499], [f'line {number}' for number in range(500) if number != 317])
        self.assertEqual(lines[499:], ['Cloud Logging refused 1 lines, which are lost: 400 bad entry'])

    def test_gives_up_on_a_batch_of_which_everything_is_refused(self) -> None:
        tries: List[int] = []

        def send(batch: Sequence[LogLine]) -> None:
            tries.append(len(batch))
            raise EntriesRefused('400 bad batch')

        self.ship(send, 500)
        self.assertLess(len(tries), 100)

    def test_drops_and_counts_what_is_over_the_limit(self) -> None:
        lines = self.ship(self.batches.append, 100, bytes_max=70)
        self.assertEqual(lines[:10], [f'line {number}' for number in range(10)])
        self.assertEqual(lines[10], 'Output beyond 70 bytes is not logged.')
        self.assertEqual(lines[-1], '90 lines beyond the limit were not logged.')

    def test_does_not_hold_the_program_up_for_ever(self) -> None:
        taken = threading.Event()

        def send(batch: Sequence[LogLine]) -> None:
            if not taken.wait(0.05):
                raise PassingFault('down')
            self.batches.append(batch)

        shipper = LogShipper(LogPolicy('vm-0', 0.01, 10**9), send)
        shipper.start()
        # 16 MB fit into no queue of 8: this loop ends only because lines are dropped.
        for _ in range(1_000):
            shipper.offer_output('stdout', 'x' * 16_000)
        taken.set()
        shipper.close(20)
        count = sum(len(batch) for batch in self.batches)
        self.assertGreater(count, 400)
        self.assertLess(count, 700)

    def test_reads_structured_lines(self) -> None:
        line = LogLine('stdout', '{"severity": "warning", "message": "m", "step": 3}', 'INFO', 0.5, 'id')
        entry = to_entry(line)
        self.assertEqual((entry['severity'], entry['jsonPayload']), ('WARNING', {'message': 'm', 'step': 3}))
        self.assertEqual(entry['timestamp'], '1970-01-01T00:00:00.500000Z')
        for text in ('{"no": "message"}', '{broken}', 'plain'):
            self.assertEqual(to_entry(LogLine('stdout', text, 'INFO', 0, 'id'))['textPayload'], text)

    def test_leaves_a_line_as_it_is_that_other_parsers_would_not_read(self) -> None:
        for value in ('NaN', 'Infinity', '-Infinity', '1e999', '9' * 400, '[' * 8_000 + ']' * 8_000):
            text = '{"message": "epoch 3", "loss": ' + value + '}'
            with self.subTest(value[:20]):
                self.assertEqual(to_entry(LogLine('stdout', text, 'INFO', 0, 'id'))['textPayload'], text)
        with self.assertRaises(ValueError):
            encode_batch({'loss': float('nan')})


class ProgressTest(unittest.TestCase):
    def test_reads_what_is_appended_and_bears_garbage(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            metrics, hypertune = Path(folder, 'metrics.jsonl'), Path(folder, 'output.metrics')
            reader = ProgressReader(metrics, hypertune)
            self.assertEqual(reader.read(), {'step': None, 'stepsMax': None, 'metrics': {}})
            metrics.write_bytes(b'{"step": 1, "steps": 10, "loss": 0.5}\nnonsense\n\xff\n[1]\n{"step": 2, "lo')
            self.assertEqual(reader.read(), {'step': 1, 'stepsMax': 10, 'metrics': {'loss': 0.5}})
            with open(metrics, 'ab') as file:
                file.write(b'ss": 0.25, "name": "x", "nan": NaN}\n')
            self.assertEqual(reader.read(), {'step': 2, 'stepsMax': 10, 'metrics': {'loss': 0.25}})

    def test_reads_the_newest_line_of_hypertune(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            hypertune = Path(folder, 'output.metrics')
            record = '{"checkpoint_path": "", "global_step": "%d", "timestamp": 1.5, "trial": "0", "accuracy": "%s"}'
            hypertune.write_text(record % (1, '0.5') + '\n' + record % (2, '0.75') + '\n')
            reader = ProgressReader(Path(folder, 'none'), hypertune)
            self.assertEqual(reader.read(), {'step': 2.0, 'stepsMax': None, 'metrics': {'accuracy': 0.75}})

    def test_takes_finite_numbers_only(self) -> None:
        self.assertEqual(parse_record(b'{"a": true, "b": null, "c": 1e999, "d": "2", "e": [1]}'), {'d': 2.0})
        self.assertEqual(parse_record(b'[' * 100_000), {})


class FiguresTest(unittest.TestCase):
    def test_crc32c_has_the_check_value_of_its_definition(self) -> None:
        self.assertEqual(extend_in_python(0, b'123456789'), 0xE3069283)
        self.assertEqual(extend_in_python(extend_in_python(0, b'12345'), b'6789'), 0xE3069283)
        self.assertEqual(encode(0), 'AAAAAA==')

    def test_reads_nvidia_smi(self) -> None:
        (gpu, other) = parse_gpus('Tesla T4, 93, 8583, 15360\nNVIDIA H200, [N/A], 0, 143771\n')
        self.assertEqual((gpu['name'], gpu['busyFraction'], gpu['memoryBytes']), ('Tesla T4', 0.93, 8_999_927_808))
        self.assertEqual(other['busyFraction'], 0)

    def test_measures_fractions_and_trees(self) -> None:
        self.assertEqual(cpu_fraction(CpuTimes(10, 100), CpuTimes(60, 200)), 0.5)
        self.assertIsNone(cpu_fraction(None, CpuTimes(60, 200)))
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, 'deep').mkdir()
            Path(folder, 'deep', 'file').write_bytes(b'x' * 1_000_000)
            self.assertGreaterEqual(measure_tree(Path(folder)), 1_000_000)

    def test_patience_ends(self) -> None:
        tries = []

        def fail() -> None:
            tries.append(1)
            raise PassingFault('always')

        with self.assertRaises(PassingFault):
            call_patiently(fail, Patience(tries_max=2, seconds_max=60))
        self.assertEqual(len(tries), 2)
        cancelled = threading.Event()
        cancelled.set()
        with self.assertRaises(PassingFault):
            call_patiently(fail, Patience(tries_max=100, seconds_max=600, cancelled=cancelled))
        self.assertEqual(len(tries), 3)


if __name__ == '__main__':
    unittest.main()
