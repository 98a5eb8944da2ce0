import itertools
import sys
import threading
import unittest
from pathlib import Path
from typing import List, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.http.retry import TransientError
from vm_agent.logs.cloud_logging import BatchRejected, EntriesRejected, encode
from vm_agent.logs.error_lines import FIRST_LINES_MAX, LAST_LINES_MAX, LINE_BYTES_MAX, ErrorLines
from vm_agent.logs.log_entries import LogLine, to_entry
from vm_agent.logs.log_shipper import BATCH_ENTRIES_MAX, REJECTIONS_MAX, LogSettings, LogShipper
from vm_agent.logs.output_lines import LINE_CHARS_MAX, TAIL_BYTES_MAX, LineSplitter, OutputTail


def split(*chunks: bytes) -> List[str]:
    splitter = LineSplitter()
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    return [*lines, *splitter.finish()]


class LineSplitterTest(unittest.TestCase):
    def test_joins_lines_that_arrive_in_several_chunks(self) -> None:
        self.assertEqual(split(b'a', b'b\nc', b'\n\nd'), ['ab', 'c', '', 'd'])
        self.assertEqual(split('zwölf\n'.encode()[:3], 'zwölf\n'.encode()[3:]), ['zwölf'])
        self.assertEqual(split(b'\xff\n'), ['\ufffd'])

    def test_keeps_the_last_state_of_a_progress_bar(self) -> None:
        self.assertEqual(split(b' 1%\r 2%\r', b' 3%\r100%\n'), ['100%'])
        self.assertEqual(split(b'one\r', b'\ntwo\r\n'), ['one', 'two'])

    def test_shows_a_progress_bar_while_it_advances(self) -> None:
        seconds = [0.0]
        splitter = LineSplitter(clock=lambda: seconds[0])
        shown: List[str] = []
        for second in range(25):
            seconds[0] = float(second)
            shown += splitter.feed(f'\r{second} of 25'.encode())
        self.assertEqual([*shown, *splitter.finish()], ['10 of 25', '20 of 25', '24 of 25'])

    def test_splits_a_line_longer_than_the_limit(self) -> None:
        lines = split(*[b'x' * 10_000] * 5)
        self.assertEqual(sum(map(len, lines)), 50_000)
        self.assertTrue(all(len(line) <= LINE_CHARS_MAX for line in lines))
        self.assertEqual(len(split(b'y' * 40_000 + b'\n')), 3)

    def test_the_tail_keeps_the_last_lines_within_its_limit(self) -> None:
        for block_lines in (1, 1_000, 100_000):
            tail = OutputTail()
            lines = [f'line {number}' for number in range(100_000)]
            for start in range(0, len(lines), block_lines):
                tail.add(''.join(f'{line}\n' for line in lines[start : start + block_lines]).encode())
            kept = tail.lines()
            self.assertEqual(list(kept), lines[-len(kept) :])
            self.assertLessEqual(sum(len(line) + 1 for line in kept), TAIL_BYTES_MAX)
            self.assertGreater(sum(len(line) + 1 for line in kept), TAIL_BYTES_MAX - 20)

    def test_the_tail_keeps_the_end_of_a_line_longer_than_its_limit(self) -> None:
        tail = OutputTail()
        tail.add(b'x' * 1_000_000 + b'the end\n')
        self.assertTrue(tail.lines()[-1].endswith('xthe end'))


class ErrorLinesTest(unittest.TestCase):
    def test_keeps_the_first_and_the_last_lines_that_look_like_an_error(self) -> None:
        for block_lines in (1, 7, 1_000):
            errors = ErrorLines()
            lines = [f'Error {number}' if number % 3 == 0 else f'line {number}' for number in range(1_000)]
            for start in range(0, len(lines), block_lines):
                errors.add(''.join(f'{line}\n' for line in lines[start : start + block_lines]).encode())
            expected = [line for line in lines if line.startswith('Error')]
            self.assertEqual(list(errors.lines()), [*expected[:FIRST_LINES_MAX], *expected[-LAST_LINES_MAX:]])

    def test_keeps_a_root_that_many_lines_follow(self) -> None:
        errors = ErrorLines()
        errors.add(b'CUDA out of memory\n')
        for _ in range(1_000):
            errors.add(b'epoch 1\n' * 1_000)
        self.assertEqual(errors.lines(), ('CUDA out of memory',))

    def test_keeps_the_part_of_a_long_line_that_looks_like_an_error(self) -> None:
        errors = ErrorLines()
        errors.add(b'x' * 1_000_000 + b' MemoryError ' + b'y' * 1_000_000 + b'\n')
        self.assertIn('MemoryError', errors.lines()[0])
        self.assertLessEqual(len(errors.lines()[0]), LINE_BYTES_MAX)


class LogShipperTest(unittest.TestCase):
    def setUp(self) -> None:
        self.batches: List[Sequence[LogLine]] = []

    def ship(self, send: object, lines: int) -> List[str]:
        shipper = LogShipper(LogSettings('vm-0', 0.01), send)  # type: ignore[arg-type]
        # Before the start: the batches, and so the number of tries, would depend on the time otherwise.
        for number in range(lines):
            shipper.add_output('stdout', [f'line {number}'])
        shipper.start()
        shipper.close(10)
        return [line.text for batch in self.batches for line in batch]

    def test_keeps_sending_the_last_lines_while_the_control_plane_is_unreachable(self) -> None:
        failures = iter(range(6))

        def send(batch: Sequence[LogLine]) -> None:
            if next(failures, None) is not None:
                raise TransientError('no connection')
            self.batches.append(batch)

        for is_unreachable, delivered in ((True, ['last']), (False, [])):
            failures, self.batches = iter(range(4)), []
            shipper = LogShipper(LogSettings('vm-0', 0.01), send)
            shipper.start()
            shipper.add_output('stdout', ['last'])
            shipper.close(0.05, lambda is_unreachable=is_unreachable: is_unreachable and not self.batches)
            self.assertEqual([line.text for batch in self.batches for line in batch], delivered)

    def test_delivers_the_last_lines_after_an_outage_that_made_its_pauses_long(self) -> None:
        failures = iter(range(2))

        def send(batch: Sequence[LogLine]) -> None:
            if next(failures, None) is not None:
                raise TransientError('no connection')
            self.batches.append(batch)

        shipper = LogShipper(LogSettings('vm-0', 0.01, delays=lambda: itertools.repeat(20.0)), send)
        shipper.add_output('stdout', ['last'])
        shipper.start()
        shipper.close(10)
        self.assertEqual([line.text for batch in self.batches for line in batch], ['last'])

    def test_sends_every_line_once_in_order_and_in_bounded_batches(self) -> None:
        self.assertEqual(self.ship(self.batches.append, 2_000), [f'line {number}' for number in range(2_000)])
        self.assertTrue(all(len(batch) <= BATCH_ENTRIES_MAX for batch in self.batches))
        ids = [line.insert_id for batch in self.batches for line in batch]
        self.assertEqual(ids, sorted(set(ids)))

    def test_retries_the_same_batch_until_it_is_accepted(self) -> None:
        seen: List[Sequence[LogLine]] = []

        def send(batch: Sequence[LogLine]) -> None:
            seen.append(batch)
            if len(seen) % 2:
                raise TransientError('busy')
            self.batches.append(batch)

        self.assertEqual(self.ship(send, 3), ['line 0', 'line 1', 'line 2'])
        self.assertEqual(list(seen[0]), list(seen[1]))

    def test_continues_after_a_rejected_batch(self) -> None:
        rejected = threading.Event()

        def send(batch: Sequence[LogLine]) -> None:
            if not rejected.is_set():
                rejected.set()
                raise BatchRejected('400 bad entry')
            self.batches.append(batch)

        shipper = LogShipper(LogSettings('vm-0', 0.01), send)
        shipper.start()
        shipper.add_output('stdout', ['bad'])
        self.assertTrue(rejected.wait(10))
        shipper.add_output('stdout', ['good'])
        shipper.close(10)
        self.assertEqual([line.text for batch in self.batches for line in batch], ['good'])

    def test_loses_only_the_rejected_line_and_reports_it(self) -> None:
        def send(batch: Sequence[LogLine]) -> None:
            if any(line.text == 'line 317' for line in batch):
                raise EntriesRejected('400 bad entry')
            self.batches.append(batch)

        lines = self.ship(send, 500)
        self.assertEqual(lines[:499], [f'line {number}' for number in range(500) if number != 317])
        self.assertEqual(lines[499:], ['Cloud Logging rejected 1 line, which is lost: 400 bad entry'])

    def test_abandons_a_batch_of_which_every_part_is_rejected(self) -> None:
        tries: List[int] = []

        def send(batch: Sequence[LogLine]) -> None:
            tries.append(len(batch))
            raise EntriesRejected('400 bad batch')

        self.ship(send, 500)
        self.assertEqual(tries[0], 500)
        self.assertLess(len(tries), 2 * REJECTIONS_MAX)

    def test_parses_structured_lines(self) -> None:
        line = LogLine('stdout', '{"severity": "warning", "message": "m", "step": 3}', 'INFO', 0.5, 'id')
        entry = to_entry(line)
        self.assertEqual((entry['severity'], entry['jsonPayload']), ('WARNING', {'message': 'm', 'step': 3}))
        self.assertEqual(entry['timestamp'], '1970-01-01T00:00:00.500000Z')
        for text in ('{"no": "message"}', '{broken}', 'plain'):
            self.assertEqual(to_entry(LogLine('stdout', text, 'INFO', 0, 'id'))['textPayload'], text)

    def test_keeps_a_line_as_text_that_is_not_valid_json_to_other_parsers(self) -> None:
        for value in ('NaN', 'Infinity', '-Infinity', '1e999', '9' * 400, '[' * 8_000 + ']' * 8_000):
            text = '{"message": "epoch 3", "loss": ' + value + '}'
            with self.subTest(value[:20]):
                self.assertEqual(to_entry(LogLine('stdout', text, 'INFO', 0, 'id'))['textPayload'], text)
        for depth, is_json in ((99, True), (100, False)):
            text = '{"message": "m", "deep": ' + '[' * depth + ']' * depth + '}'
            self.assertEqual('jsonPayload' in to_entry(LogLine('stdout', text, 'INFO', 0, 'id')), is_json)
        with self.assertRaises(ValueError):
            encode({'loss': float('nan')})


if __name__ == '__main__':
    unittest.main()
