import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.program.kernel_messages import LINE_CHARS_MAX, LINES_MAX, read_kernel_messages

XID = 'NVRM: Xid (PCI:0000:00:04): 79, pid=2112, GPU has fallen off the bus.'


class KernelMessagesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name, 'kmsg')

    def read(self, *messages: str, since: float = 100.0, has_own_gpus: bool = False) -> object:
        records = [f'6,{number},150000000,-;{message}' for number, message in enumerate(messages)]
        self.path.write_text('\n'.join(records))
        return read_kernel_messages(since, 2112, has_own_gpus, str(self.path))

    def test_returns_faults_of_gpus_and_of_the_own_process(self) -> None:
        killed = 'Out of memory: Killed process 2112 (python3) total-vm:53312244kB'
        others = ('Out of memory: Killed process 21123 (chrome)', 'usb 1-1: new device', 'segfault at 0 ip 1 sp 2112x')
        self.assertEqual(self.read(XID, killed, *others), (f'kernel: {XID}', f'kernel: {killed}'))
        # A device-side assert left this on an H100: the program of another VM, and the own one.
        for xid in (43, 94):
            other, own = (f'NVRM: Xid (PCI:0000:00:06): {xid}, pid={pid}, name=python' for pid in (641, 2112))
            self.assertEqual(self.read(other, own), (f'kernel: {own}',))
            self.assertEqual(self.read(other, has_own_gpus=True), (f'kernel: {other}',))

    def test_leaves_out_what_was_before_the_program(self) -> None:
        self.assertEqual(self.read(XID, since=200.0), ())

    def test_is_bounded(self) -> None:
        lines = self.read(*(f'{XID} {"x" * 5_000}' for _ in range(50)))
        assert isinstance(lines, tuple)
        self.assertEqual(len(lines), LINES_MAX)
        self.assertTrue(all(len(line) <= LINE_CHARS_MAX + len('kernel: ') for line in lines))

    def test_returns_nothing_if_the_log_cannot_be_read_or_is_no_log(self) -> None:
        self.assertEqual(read_kernel_messages(0, 1, False, str(self.path)), ())
        self.assertEqual(read_kernel_messages(0, 1, False, self.folder.name), ())
        self.path.write_bytes(bytes(range(256)) * 100)
        self.assertEqual(read_kernel_messages(0, 1, False, str(self.path)), ())


if __name__ == '__main__':
    unittest.main()
