import gzip
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib
from pathlib import Path
from typing import List, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.http.retry import TransientError
from vm_agent.logs.fold import LAST_LINES_MAX, Fold, FoldLimits
from vm_agent.logs.full_log import FullLog
from vm_agent.logs.log_entries import LogLine
from vm_agent.logs.log_shipper import QUEUE_BYTES_MAX, LogSettings, LogShipper
from vm_agent.logs.mask import Mask
from vm_agent.logs.output_log import OutputLog
from vm_agent.logs.output_pump import OutputPump

LIMITS = FoldLimits(
    bytes_max=10_000_000, lines_per_second=10, lines_burst=100, bytes_per_second=1_000, bytes_burst=10_000
)
URI = 'gs://jobs/digits/dropforge-logs/'


def numbered(first: int, count: int) -> bytes:
    return b''.join(b'line %d\n' % number for number in range(first, first + count))


class FoldTest(unittest.TestCase):
    def setUp(self) -> None:
        self.now = 0.0
        self.fold = Fold(LIMITS, lambda: self.now)

    def test_ships_a_burst_and_folds_the_rest_until_half_of_it_has_refilled(self) -> None:
        self.assertEqual(self.fold.take(numbered(0, 150), True), numbered(0, 100))
        self.assertEqual(self.fold.take(numbered(150, 50), True), b'')
        self.now = 4.9
        self.assertIsNone(self.fold.close())
        self.now = 5.0
        folded = self.fold.close()
        assert folded is not None
        self.assertEqual(folded.line_count + len(folded.last), 100)
        self.assertEqual(folded.last, tuple(f'line {number}' for number in range(180, 200)))
        self.assertEqual(self.fold.take(numbered(200, 100), True), numbered(200, 50 - LAST_LINES_MAX))

    def test_limits_bytes_too_and_never_cuts_a_line_of_a_block(self) -> None:
        lines = b''.join(b'%d' % number * 999 + b'\n' for number in range(9))
        self.assertEqual(self.fold.take(lines * 2, True), lines + b'0' * 999 + b'\n')

    def test_ships_at_most_its_rate_over_any_long_time(self) -> None:
        shipped = 0
        for second in range(1_000):
            self.now = float(second)
            folded = self.fold.close()
            shipped += 0 if folded is None else len(folded.last)
            shipped += self.fold.take(numbered(0, 100), True).count(b'\n')
        self.assertLessEqual(shipped, LIMITS.lines_burst + LIMITS.lines_per_second * 1_000)
        self.assertGreater(shipped, LIMITS.lines_per_second * 900)

    def test_takes_a_line_of_a_megabyte_beside_a_progress_bar_in_time_proportional_to_its_length(self) -> None:
        block = b'1/2\r2/2\n' + b'X' * 1_000_000 + b'\na\rb\r\n'
        started_at = time.process_time()
        shipped = Fold(FoldLimits(bytes_max=10_000_000)).take(block, True)
        # Milliseconds; half an hour if every byte of the line is tried as the beginning of one.
        self.assertLess(time.process_time() - started_at, 5)
        self.assertEqual(shipped, b'2/2\n' + b'X' * 1_000_000 + b'\nb\r\n')

    def test_folds_everything_once_the_total_is_reached_and_ships_the_last_lines_at_the_end(self) -> None:
        fold = Fold(FoldLimits(bytes_max=70), lambda: self.now)
        self.assertEqual(fold.take(numbered(0, 100), True), numbered(0, 10))
        self.now = 10_000.0
        self.assertIsNone(fold.close())
        folded = fold.close(is_last=True)
        self.assertEqual(folded and (folded.line_count, folded.last[-1]), (70, 'line 99'))

    def test_counts_a_progress_bar_as_its_last_state(self) -> None:
        bar = b''.join(b'\r%3d%%' % percent for percent in range(101)) * 100
        self.assertLess(len(self.fold.take(bar + b'\n', True)), 20)
        self.assertFalse(self.fold.is_open)


class OutputLogTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.lines: List[LogLine] = []
        self.full_log = FullLog(self.folder, 'log', 10_000_000)

    def start(self, send: object, limits: FoldLimits = LIMITS) -> OutputLog:
        self.shipper = LogShipper(LogSettings('vm-0', 0.01), send)  # type: ignore[arg-type]
        log = OutputLog(self.shipper, self.full_log, limits, URI)
        self.shipper.on_flush, self.shipper.on_lost = log.flush, self.full_log.want
        self.shipper.start()
        return log

    def full_text(self, stream: str) -> bytes:
        parts = sorted(self.folder.glob(f'*-{stream}.log.gz'))
        return b''.join(gzip.decompress(part.read_bytes()) for part in parts)

    def shipped(self, stream: str) -> List[str]:
        return [line.text for line in self.lines if line.stream == stream]

    def test_every_line_is_shipped_or_counted_and_all_of_them_are_in_the_complete_log(self) -> None:
        log = self.start(self.lines.extend)
        for first in range(0, 100_000, 500):
            log.add('stdout', numbered(first, 500))
        log.add('stderr', b'Traceback\n')
        log.finish()
        self.shipper.close(10)
        counts = [int(text.split()[0]) for text in self.shipped('agent') if 'are folded' in text]
        self.assertEqual(len(self.shipped('stdout')) + sum(counts), 100_000)
        self.assertEqual(self.shipped('stdout')[-1], 'line 99999')
        self.assertEqual(self.shipped('stderr'), ['Traceback'])
        self.assertEqual(self.full_text('stdout'), numbered(0, 100_000))
        self.assertIn(URI, self.shipped('agent')[-1])
        self.assertTrue(self.full_log.is_wanted)

    def test_the_complete_log_is_not_wanted_if_all_lines_are_shipped(self) -> None:
        log = self.start(self.lines.extend)
        log.add('stdout', numbered(0, 50))
        log.finish()
        self.shipper.close(10)
        self.assertEqual(self.shipped('stdout'), [f'line {number}' for number in range(50)])
        self.assertFalse(self.full_log.is_wanted)
        self.assertIsNone(self.full_log.next_part())

    def test_an_outage_of_the_log_service_neither_blocks_nor_loses_output(self) -> None:
        is_up = threading.Event()

        def send(batch: Sequence[LogLine]) -> None:
            if not is_up.is_set():
                raise TransientError('down')
            self.lines.extend(batch)

        unlimited = FoldLimits(10**9, lines_per_second=1e9, lines_burst=10**9, bytes_per_second=1e9, bytes_burst=10**9)
        log = self.start(send, unlimited)
        block = b''.join(b'%d' % number + b'x' * 16_000 + b'\n' for number in range(10, 20))
        started_at = time.monotonic()
        for _ in range(100):
            log.add('stdout', block)
        self.assertLess(time.monotonic() - started_at, 5)
        self.assertLess(self.shipper._queued_bytes, QUEUE_BYTES_MAX + len(block) + 10_000)
        is_up.set()
        log.finish()
        self.shipper.close(20)
        counts = [int(text.split()[0]) for text in self.shipped('agent') if 'are folded' in text]
        self.assertEqual(len(self.shipped('stdout')) + sum(counts), 1_000)
        self.assertEqual(self.full_text('stdout'), block * 100)

    def test_a_quiet_stream_shows_the_last_lines_that_were_folded(self) -> None:
        log = self.start(self.lines.extend, FoldLimits(10**6, lines_per_second=1_000, lines_burst=20))
        log.add('stdout', numbered(0, 100))
        while 'line 99' not in self.shipped('stdout'):
            time.sleep(0.01)
        log.finish()
        self.shipper.close(10)
        self.assertEqual(self.shipped('stdout'), [f'line {number}' for number in (*range(20), *range(80, 100))])

    def test_hostile_output_is_shipped_as_text_in_bounded_lines(self) -> None:
        log = self.start(self.lines.extend, FoldLimits(10**7))
        log.add('stdout', b'\xff\xfe\x00 nul\n\x1b[2J\x1b]0;title\x07\n' + b'y' * 1_000_000 + b'\npartial')
        log.finish()
        self.shipper.close(10)
        first, second, *others, last = self.shipped('stdout')
        self.assertEqual((first, second, last), ('\ufffd\ufffd\0 nul', '\x1b[2J\x1b]0;title\x07', 'partial'))
        self.assertEqual(sum(map(len, others)), 1_000_000)
        self.assertLessEqual(max(map(len, others)), 16_384)


class FullLogTest(unittest.TestCase):
    def test_keeps_what_was_flushed_before_a_crash_and_uploads_it_after_the_reboot(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            before = FullLog(Path(folder), 'boot-0', 1_000_000)
            before.write('stdout', b'first\n')
            before.want()
            before.flush()
            self.addCleanup(before.finish)
            after = FullLog(Path(folder), 'boot-1', 1_000_000)
            part = after.next_part()
            assert part is not None
            self.assertEqual(zlib.decompressobj(31).decompress(part.read_bytes()), b'first\n')
            after.remove(part)
            self.assertIsNone(after.next_part())

    def test_counts_what_exceeds_its_share_of_the_disk(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            log = FullLog(Path(folder), 'log', 100_000)
            for _ in range(20):
                log.write('stdout', os.urandom(50_000))
            log.finish()
            self.assertGreater(log.lost_bytes, 700_000)
            self.assertLess(sum(path.stat().st_size for path in Path(folder).iterdir()), 300_000)
            self.assertTrue(log.is_wanted)


class OutputPumpTest(unittest.TestCase):
    def pump(self, code: str) -> List[bytes]:
        blocks: List[bytes] = []
        process = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE)
        pump = OutputPump(Mask(), lambda _stream, block: blocks.append(block))
        pump.add('stdout', process.stdout)
        process.wait()
        pump.finish(30)
        return blocks

    def test_forwards_every_byte_in_blocks_of_whole_lines(self) -> None:
        blocks = self.pump('for number in range(200_000): print("line", number)')
        self.assertEqual(b''.join(blocks), numbered(0, 200_000))
        self.assertTrue(all(block.endswith(b'\n') for block in blocks))

    def test_holds_a_bounded_part_of_a_line_that_does_not_end(self) -> None:
        blocks = self.pump('import os; [os.write(1, b"x" * 100_000) for _ in range(100)]')
        self.assertEqual(sum(map(len, blocks)), 10_000_000)
        self.assertGreater(len(blocks), 1)


if __name__ == '__main__':
    unittest.main()
