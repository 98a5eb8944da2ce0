import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.program.gpus import await_gpus

T4 = 'GPU 0: Tesla T4 (UUID: GPU-1)'


class GpusTest(unittest.TestCase):
    """With an executable called nvidia-smi on the PATH."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.addCleanup(os.environ.__setitem__, 'PATH', os.environ['PATH'])
        os.environ['PATH'] = folder.name
        self.waits = 0

    def install(self, script: str) -> None:
        path = self.folder / 'nvidia-smi'
        path.write_text(f'#!/bin/sh\n{script}\n')
        path.chmod(0o755)

    def wait(self, _seconds: float) -> None:
        self.waits += 1

    def test_finds_the_gpus_and_does_not_count_their_instances(self) -> None:
        self.install(f"echo '{T4}'; echo '  MIG 1g.5gb Device 0: (UUID: MIG-1)'; echo 'GPU 1: Tesla T4 (UUID: GPU-2)'")
        self.assertIsNone(await_gpus(2, self.wait))
        self.assertEqual(self.waits, 0)
        report = await_gpus(3, self.wait, 0.0)
        self.assertEqual(report and report.message, 'The VM has 2 of its 3 GPUs. The program was not started.')

    def test_waits_until_the_driver_is_loaded(self) -> None:
        self.install(f"[ -e '{self.folder}/loaded' ] && echo '{T4}' || {{ : >'{self.folder}/loaded'; exit 9; }}")
        self.assertIsNone(await_gpus(1, self.wait))
        self.assertEqual(self.waits, 1)

    def test_reports_what_nvidia_smi_says(self) -> None:
        self.install("echo 'No devices were found'; exit 6")
        report = await_gpus(1, self.wait, 0.0)
        assert report is not None
        self.assertEqual((report.reason, report.evidence[0]), ('GPU_MISSING', 'No devices were found'))
        self.assertRegex(report.evidence[-1], r'PCI bus: \d')

    def test_reports_that_there_is_no_driver(self) -> None:
        report = await_gpus(1, self.wait, 0.0)
        self.assertIn('nvidia-smi', report.evidence[0] if report else '')

    def test_checks_nothing_for_a_job_without_gpus(self) -> None:
        self.assertIsNone(await_gpus(0, self.wait, 0.0))


if __name__ == '__main__':
    unittest.main()
