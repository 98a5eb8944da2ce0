import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.program import processes
from vm_agent.program.child_process import ChildProcess, Command
from vm_agent.program.exit_report import truncate_evidence
from vm_agent.program.gpu_meter import parse_gpus
from vm_agent.program.processes import kill_remaining
from vm_agent.program.usage import CpuTimes, cpu_fraction, measure_tree


class UsageTest(unittest.TestCase):
    def test_measures_files_in_folders_nested_deeper_than_paths_may_be_long(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            descriptor = os.open(folder, os.O_RDONLY)
            for _ in range(30):
                os.mkdir('d' * 200, dir_fd=descriptor)
                inner = os.open('d' * 200, os.O_RDONLY, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            with open(os.open('file', os.O_WRONLY | os.O_CREAT, dir_fd=descriptor), 'wb') as file:
                file.write(b'x' * 1_000_000)
            os.close(descriptor)
            self.assertGreaterEqual(measure_tree(Path(folder), Path(folder, 'none')), 1_000_000)

    def test_measures_files_beside_others_that_are_deleted_meanwhile(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for number in range(20):
                Path(folder, f'kept-{number}').write_bytes(b'x' * 100_000)
            ended = threading.Event()

            def churn() -> None:
                while not ended.is_set():
                    for path in [Path(folder, f'brief-{number}') for number in range(20)]:
                        path.touch()
                        path.unlink()

            churning = threading.Thread(target=churn)
            churning.start()
            try:
                least = min(measure_tree(Path(folder), Path(folder, 'none')) for _ in range(200))
            finally:
                ended.set()
                churning.join()
            self.assertGreaterEqual(least, 2_000_000)

    def test_parses_the_output_of_nvidia_smi(self) -> None:
        (gpu, other) = parse_gpus(
            'Tesla T4, 93, 8583, 15360, 68.54, 71, 1590\nNVIDIA H200, [N/A], 0, 143771, [N/A], 40, [N/A]\nbroken, 1\n'
        )
        self.assertEqual((gpu.name, gpu.busy_fraction, gpu.memory_bytes), ('Tesla T4', 0.93, 8_999_927_808))
        self.assertEqual((gpu.power_watts, gpu.temperature_celsius, gpu.clock_hertz), (68.54, 71, 1_590_000_000))
        self.assertEqual((other.busy_fraction, other.power_watts, other.temperature_celsius), (0, None, 40))

    def test_measures_cpu_fractions_and_disk_usage(self) -> None:
        self.assertEqual(cpu_fraction(CpuTimes(10, 100), CpuTimes(60, 200)), 0.5)
        self.assertIsNone(cpu_fraction(None, CpuTimes(60, 200)))
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, 'deep').mkdir()
            Path(folder, 'deep', 'file').write_bytes(b'x' * 1_000_000)
            Path(folder, 'staging').mkdir()
            Path(folder, 'staging', '1').write_bytes(b'x' * 1_000_000)
            measured = measure_tree(Path(folder), Path(folder, 'staging'))
            self.assertTrue(1_000_000 <= measured < 2_000_000, measured)


class EvidenceTest(unittest.TestCase):
    def test_truncates_evidence_by_lines_characters_and_bytes(self) -> None:
        lines = [f'{number} ' + '\U0001f600' * 3000 for number in range(100)]
        kept = truncate_evidence(lines)
        self.assertTrue(kept[-1].startswith('99 '))
        self.assertLessEqual(len(kept), 40)
        self.assertTrue(all(len(line.encode('utf-16-le')) <= 4000 for line in kept))
        self.assertLess(len(json.dumps(kept)), 45_000)
        self.assertEqual(len(truncate_evidence(map(str, range(100)))), 40)

    def test_keeps_both_ends_of_a_long_line(self) -> None:
        (line,) = truncate_evidence(['ValueError: ' + '\U0001f600' * 3_000 + ' is not a label'])
        self.assertTrue(line.startswith('ValueError: \U0001f600') and line.endswith('\U0001f600 is not a label'))
        self.assertLessEqual(len(line.encode('utf-16-le')), 4_000)


class MarkerTest(unittest.TestCase):
    def test_rejects_a_marker_that_every_process_would_have(self) -> None:
        # Without processes to find, a missing check kills none of this machine's.
        self.addCleanup(setattr, processes, 'PROC', processes.PROC)
        processes.PROC = Path('/nonexistent')
        for marker in (b'', b'=', b'DROPFORGE_VM=', b'vm-1'):
            with self.assertRaisesRegex(ValueError, 'is not a marker'):
                kill_remaining(-1, marker)


@unittest.skipUnless(Path('/proc/self/environ').exists(), 'needs /proc')
class RemainingProcessesTest(unittest.TestCase):
    def test_kills_a_daemon_with_the_marker_and_no_other_process(self) -> None:
        marker = f'{os.getpid()}@{self.id()}'
        sleeper = [sys.executable, '-c', 'import time; print("on", flush=True); time.sleep(600)']
        marked = subprocess.Popen(sleeper, env={**os.environ, 'DROPFORGE_VM': marker}, stdout=subprocess.PIPE)
        # The name of another test or VM may begin with this one's.
        other = subprocess.Popen(sleeper, env={**os.environ, 'DROPFORGE_VM': f'{marker}_2'}, stdout=subprocess.PIPE)
        try:
            for process in (marked, other):
                assert process.stdout is not None
                process.stdout.readline()
            self.assertEqual(kill_remaining(-1, f'DROPFORGE_VM={marker}'.encode()), 1)
            self.assertIsNone(other.poll())
        finally:
            for process in (marked, other):
                process.kill()
                process.wait()
                assert process.stdout is not None
                process.stdout.close()


# Saves for 0.2 s after SIGTERM.
SAVES = """
import pathlib, signal, sys, time
def save(*_):
    time.sleep(0.2)
    pathlib.Path('saved').write_text('checkpoint')
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
print('ready', flush=True)
signal.pause()
"""


@unittest.skipUnless(Path('/proc/self/status').exists(), 'needs /proc')
class GraceTest(unittest.TestCase):
    """SIGTERM to a program whose first process is not the one that saves."""

    def stop(self, *argv: str) -> Tuple[int, bytes]:
        """Signals the program when it is ready; returns how it ended, and what it has printed."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        Path(folder.name, 'saves.py').write_text(SAVES)
        environment = {**os.environ, 'PYTHON': sys.executable, 'DROPFORGE_VM': f'{os.getpid()}@{self.id()}'}
        marker = f'DROPFORGE_VM={environment["DROPFORGE_VM"]}'.encode()
        ready, ended, printed = threading.Event(), threading.Event(), bytearray()

        def on_output(_stream: str, block: bytes) -> None:
            printed.extend(block)
            if b'ready' in printed:
                ready.set()

        process = ChildProcess(Command(argv, environment, Path(folder.name), marker), on_output, ended.set)
        try:
            self.assertTrue(ready.wait(10))
            process.send_signal(signal.SIGTERM)
            self.assertTrue(ended.wait(10))
        finally:
            process.clean_up()
        self.assertEqual(Path(folder.name, 'saved').read_text(), 'checkpoint')
        return_code = process.return_code
        assert return_code is not None
        return return_code, bytes(printed)

    def test_a_shell_that_runs_the_program_ends_after_it_has_saved_and_runs_nothing_more(self) -> None:
        scripts = ('"$PYTHON" saves.py; echo next', '"$PYTHON" saves.py & wait; echo next')
        for shell, script in zip(('sh', 'bash'), scripts):
            with self.subTest(f'{shell}: {script}'):
                self.assertEqual(self.stop(shell, '-c', script), (-signal.SIGTERM, b'ready\n'))

    def test_so_do_shells_in_shells_and_one_that_cleans_up_at_its_exit(self) -> None:
        nested = "bash -c '\"$PYTHON\" saves.py; echo next'; echo next"
        self.assertEqual(self.stop('sh', '-c', nested), (-signal.SIGTERM, b'ready\n'))
        trap = 'trap "echo cleaned" EXIT; "$PYTHON" saves.py; echo next'
        self.assertEqual(self.stop('bash', '-c', trap), (-signal.SIGTERM, b'ready\ncleaned\n'))

    def test_so_does_a_launcher_in_python(self) -> None:
        launcher = 'import subprocess, sys; subprocess.run([sys.executable, "saves.py"]); print("next")'
        self.assertEqual(self.stop(sys.executable, '-c', launcher), (-signal.SIGTERM, b'ready\n'))

    def test_a_program_that_handles_the_signal_itself_gets_it_at_once(self) -> None:
        script = 'trap "echo asked; wait; exit 7" TERM; "$PYTHON" saves.py & wait'
        self.assertEqual(self.stop('sh', '-c', script), (7, b'ready\nasked\n'))

    def test_a_shell_whose_program_does_not_handle_the_signal_ends_at_once(self) -> None:
        marker = f'{os.getpid()}@{self.id()}'
        command = Command(
            ['sh', '-c', '(trap "" TERM; sleep 60) & sleep 60; echo next'],
            {**os.environ, 'DROPFORGE_VM': marker},
            Path('/'),
            f'DROPFORGE_VM={marker}'.encode(),
        )
        ended = threading.Event()
        process = ChildProcess(command, lambda _stream, _block: None, ended.set)
        try:
            process.send_signal(signal.SIGTERM)
            self.assertTrue(ended.wait(5))
        finally:
            process.clean_up()


if __name__ == '__main__':
    unittest.main()
