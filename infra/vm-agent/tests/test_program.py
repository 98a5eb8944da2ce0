import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.program.exit_report import truncate_evidence
from vm_agent.program.processes import kill_remaining
from vm_agent.program.progress import Progress, ProgressReader, parse_record
from vm_agent.program.usage import CpuTimes, cpu_fraction, measure_tree, parse_gpus


class ProgressTest(unittest.TestCase):
    def test_reads_appended_lines_and_ignores_invalid_ones(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            metrics, hypertune = Path(folder, 'metrics.jsonl'), Path(folder, 'output.metrics')
            reader = ProgressReader(metrics, hypertune)
            self.assertEqual(reader.read(), Progress(step=None, steps_max=None, metrics={}))
            metrics.write_bytes(b'{"step": 1, "steps": 10, "loss": 0.5}\nnonsense\n\xff\n[1]\n{"step": 2, "lo')
            self.assertEqual(reader.read(), Progress(step=1, steps_max=10, metrics={'loss': 0.5}))
            with open(metrics, 'ab') as file:
                file.write(b'ss": 0.25, "name": "x", "nan": NaN}\n')
            self.assertEqual(reader.read(), Progress(step=2, steps_max=10, metrics={'loss': 0.25}))

    def test_reads_the_last_line_of_hypertune(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            hypertune = Path(folder, 'output.metrics')
            record = '{"checkpoint_path": "", "global_step": "%d", "timestamp": 1.5, "trial": "0", "accuracy": "%s"}'
            hypertune.write_text(record % (1, '0.5') + '\n' + record % (2, '0.75') + '\n')
            reader = ProgressReader(Path(folder, 'none'), hypertune)
            self.assertEqual(reader.read(), Progress(step=2.0, steps_max=None, metrics={'accuracy': 0.75}))

    def test_accepts_finite_numbers_only(self) -> None:
        self.assertEqual(parse_record(b'{"a": true, "b": null, "c": 1e999, "d": "2", "e": [1]}'), {'d': 2.0})
        self.assertEqual(parse_record(b'[' * 100_000), {})


class UsageTest(unittest.TestCase):
    def test_parses_the_output_of_nvidia_smi(self) -> None:
        (gpu, other) = parse_gpus('Tesla T4, 93, 8583, 15360\nNVIDIA H200, [N/A], 0, 143771\n')
        self.assertEqual((gpu.name, gpu.busy_fraction, gpu.memory_bytes), ('Tesla T4', 0.93, 8_999_927_808))
        self.assertEqual(other.busy_fraction, 0)

    def test_measures_cpu_fractions_and_disk_usage(self) -> None:
        self.assertEqual(cpu_fraction(CpuTimes(10, 100), CpuTimes(60, 200)), 0.5)
        self.assertIsNone(cpu_fraction(None, CpuTimes(60, 200)))
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, 'deep').mkdir()
            Path(folder, 'deep', 'file').write_bytes(b'x' * 1_000_000)
            self.assertGreaterEqual(measure_tree(Path(folder)), 1_000_000)


class EvidenceTest(unittest.TestCase):
    def test_truncates_evidence_by_lines_characters_and_bytes(self) -> None:
        lines = [f'{number} ' + '\U0001f600' * 3000 for number in range(100)]
        kept = truncate_evidence(lines)
        self.assertTrue(kept[-1].startswith('99 '))
        self.assertLessEqual(len(kept), 40)
        self.assertTrue(all(len(line.encode('utf-16-le')) <= 4000 for line in kept))
        self.assertLess(len(json.dumps(kept)), 45_000)
        self.assertEqual(len(truncate_evidence(['short'] * 100)), 40)


@unittest.skipUnless(Path('/proc/self/environ').exists(), 'needs /proc')
class RemainingProcessesTest(unittest.TestCase):
    def test_kills_a_daemon_with_the_marker_and_no_other_process(self) -> None:
        marker = f'{os.getpid()}@{self.id()}'
        sleeper = [sys.executable, '-c', 'import time; print("on", flush=True); time.sleep(600)']
        marked = subprocess.Popen(sleeper, env={**os.environ, 'DROPFORGE_VM': marker}, stdout=subprocess.PIPE)
        other = subprocess.Popen(sleeper, stdout=subprocess.PIPE)
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


if __name__ == '__main__':
    unittest.main()
