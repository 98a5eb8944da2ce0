import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.decisions import StopNotice
from vm_agent.mailbox import Mailbox
from vm_agent.manifest import Manifest, decode_manifest, encode_manifest
from vm_agent.output_files import MANIFEST_NAME, Stamp, is_restorable, scan_output
from vm_agent.output_sync import Saved, choose_files
from vm_agent.processes import kill_leftovers
from vm_agent.storage import Author, ObjectInfo


AUTHOR = Author('digits', 3)


def info(name: str, generation: int) -> ObjectInfo:
    return ObjectInfo('bucket', f'p/{name}', str(generation), 1, 'AAAAAA==', None, None)


class ScanTest(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name, 'output')
        self.folder.mkdir()

    def test_sees_files_and_links_inside_but_nothing_outside_and_nothing_special(self) -> None:
        (self.folder / 'deep').mkdir()
        (self.folder / 'deep' / 'model').write_text('m')
        (self.folder / 'latest').symlink_to('deep/model')
        (self.folder / 'leak').symlink_to('/etc/hosts')
        (self.folder / 'round').symlink_to('.', target_is_directory=True)
        os.mkfifo(self.folder / 'pipe')
        (self.folder / MANIFEST_NAME).write_text('forged')
        scan = scan_output(self.folder, 'p/')
        self.assertEqual(sorted(scan.files), ['deep/model', 'latest'])
        self.assertEqual(len(scan.left_out), 2)

    def test_leaves_out_names_that_no_object_can_have(self) -> None:
        (self.folder / ('d' * 200)).mkdir()
        (self.folder / ('d' * 200) / ('f' * 200)).write_text('')
        (self.folder / 'line\nend').write_text('')
        self.assertEqual(scan_output(self.folder, 'p' * 1_000 + '/').files, {})
        self.assertEqual(len(scan_output(self.folder, 'p/').files), 1)

    def test_takes_no_name_from_the_bucket_that_leads_elsewhere(self) -> None:
        for name in ('../x', '/x', 'a//b', 'a/../b', './a', 'a/', '', MANIFEST_NAME, 'packages/x'):
            self.assertFalse(is_restorable(name), name)
        self.assertTrue(is_restorable('a/b..c/.d'))


class ChoiceTest(unittest.TestCase):
    def test_uploads_what_changed_and_came_to_rest_in_the_order_of_writing(self) -> None:
        found = {'pointer': Stamp(1, 30), 'weights': Stamp(9, 20), 'moving': Stamp(5, 40), 'same': Stamp(1, 1)}
        before = {**found, 'moving': Stamp(4, 35)}
        saved = {'same': Saved(Stamp(1, 1), info('same', 1)), 'weights': Saved(Stamp(8, 10), info('weights', 1))}
        self.assertEqual(choose_files(found, before, saved), ['weights', 'pointer'])
        self.assertEqual(choose_files(found, None, saved), ['weights', 'pointer', 'moving'])
        self.assertEqual(choose_files(found, {}, saved), [])

    def test_manifest_survives_the_way_through_the_bucket(self) -> None:
        manifest = Manifest(AUTHOR, {'a': info('a', 7)}, '6')
        self.assertEqual(decode_manifest(encode_manifest(manifest), 'bucket', 'p/'), manifest)
        for body in (b'', b'[]', b'{"attempt": 1}', b'{"attempt": 1, "files": []}'):
            with self.assertRaises(ValueError):
                decode_manifest(body, 'bucket', 'p/')


class MailboxTest(unittest.TestCase):
    def test_the_first_reason_counts(self) -> None:
        mailbox = Mailbox()
        mailbox.post(StopNotice('PREEMPTED', 'first'))
        mailbox.post(StopNotice('STOPPED', 'second'))
        self.assertTrue(mailbox.stopping.wait(10))
        self.assertEqual(mailbox.notice, StopNotice('PREEMPTED', 'first'))

    def test_a_signal_becomes_a_reason(self) -> None:
        before = [(number, signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT)]
        try:
            mailbox = Mailbox()
            mailbox.take_termination(lambda: StopNotice('STOPPED', 'shut down'))
            os.kill(os.getpid(), signal.SIGTERM)
            self.assertTrue(mailbox.stopping.wait(10))
            self.assertEqual(mailbox.notice, StopNotice('STOPPED', 'shut down'))
        finally:
            for number, handler in before:
                signal.signal(number, handler)


@unittest.skipUnless(Path('/proc/self/environ').exists(), 'needs /proc')
class LeftoverTest(unittest.TestCase):
    def test_finds_a_daemon_by_its_mark_and_spares_others(self) -> None:
        mark = f'{os.getpid()}@{self.id()}'
        sleeper = [sys.executable, '-c', 'import time; print("on", flush=True); time.sleep(600)']
        marked = subprocess.Popen(sleeper, env={**os.environ, 'DROPFORGE_VM': mark}, stdout=subprocess.PIPE)
        other = subprocess.Popen(sleeper, stdout=subprocess.PIPE)
        try:
            for process in (marked, other):
                assert process.stdout is not None
                process.stdout.readline()
            self.assertEqual(kill_leftovers(-1, f'DROPFORGE_VM={mark}'.encode()), 1)
            self.assertIsNone(other.poll())
        finally:
            for process in (marked, other):
                process.kill()
                process.wait()
                assert process.stdout is not None
                process.stdout.close()


if __name__ == '__main__':
    unittest.main()
