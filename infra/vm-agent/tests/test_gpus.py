import os
import signal
import sys
import tempfile
import threading
import time
import unittest
from functools import partial
from pathlib import Path
from typing import Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from test_control import LIMITS

from vm_agent.control.decisions import StopNotice, describe_end
from vm_agent.control.stop_signal import StopSignal
from vm_agent.control.supervisor import Monitored, Supervisor
from vm_agent.program.child_process import ChildProcess, Command
from vm_agent.program.exit_report import DecisiveFinding, ExitReport, ReplicaEnded
from vm_agent.program.gpu_faults import GpuFaults
from vm_agent.program.gpus import await_gpus

T4 = 'GPU 0: Tesla T4 (UUID: GPU-1)'
TWO = f"echo '{T4}'; echo '  MIG 1g.5gb Device 0: (UUID: MIG-1)'; echo 'GPU 1: Tesla T4 (UUID: GPU-2)'"
LOST = 'NVRM: Xid (PCI:0000:00:04.0): 79, pid=2112, name=python3, GPU has fallen off the bus.'
CONTAINED = 'NVRM: Xid (PCI:0000:00:04.0): 94, pid=2112, name=python3, Contained: SM (0x1).'
OF_PROGRAM = 'NVRM: Xid (PCI:0000:00:04.0): 31, pid=2112, name=python3, Ch 00000008, MMU Fault'
# Faults that the GPU has corrected or retired by itself, and with which it goes on.
CORRECTED = (
    'NVRM: Xid (PCI:0000:00:04.0): 63, Row Remapper: New row marked for remapping, reset gpu to activate.',
    'NVRM: Xid (PCI:0009:01:00): 121, C2C Link corrected error',
    'NVRM: Xid (PCI:0019:01:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000008 0x00000000)',
)
FATAL_LINK = 'NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000)'


class GpuTest(unittest.TestCase):
    """With an executable called nvidia-smi on the PATH, and files in place of the kernel's log and the PCI bus."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = self.folder / 'kmsg'
        self.log.write_text('6,0,1000,-;Linux version 6.8.0\n')
        self.addCleanup(os.environ.__setitem__, 'PATH', os.environ['PATH'])
        os.environ['PATH'] = f'{folder.name}:/bin:/usr/bin'
        self.waits = 0
        self.count_devices = 0

    def smi(self, script: str, ecc: str = '0, No', failure: str = 'No') -> None:
        """`script` is what `nvidia-smi -L` does."""
        path = self.folder / 'nvidia-smi'
        queries = f"*gpu=*) echo '0000:04:00.0, {ecc}' ;; *rows=*) echo '0000:04:00.0, {failure}' ;;"
        path.write_text(f'#!/bin/sh\ncase "$1" in {queries} *) {script} ;; esac\n')
        path.chmod(0o755)

    def add_devices(self, count: int, kind: str = '0x030200', vendor: str = '0x10de') -> None:
        for _ in range(count):
            self.count_devices += 1
            path = self.folder / 'devices' / f'0000:00:{self.count_devices:02x}.0'
            path.mkdir(parents=True)
            (path / 'class').write_text(f'{kind}\n')
            (path / 'vendor').write_text(f'{vendor}\n')

    def say(self, *messages: str) -> None:
        with open(self.log, 'a') as log:
            log.writelines(f'3,1,{int(time.monotonic() * 1e6)},-;{message}\n' for message in messages)

    def faults(self, gpu_count: int = 2) -> GpuFaults:
        return GpuFaults(gpu_count, str(self.log), self.folder / 'devices')

    def wait(self, _seconds: float) -> None:
        self.waits += 1

    def report(self, gpu_count: int) -> Optional[ExitReport]:
        return await_gpus(self.faults(gpu_count), self.wait, 0.0)


class AwaitTest(GpuTest):
    def test_finds_the_gpus_and_does_not_count_their_instances(self) -> None:
        self.smi(TWO)
        self.add_devices(3)
        self.assertIsNone(await_gpus(self.faults(2), self.wait))
        self.assertEqual(self.waits, 0)
        message = 'The driver has 2 of the 3 GPUs of the VM. The program was not started.'
        self.assertEqual((report := self.report(3)) and (report.reason, report.message), ('GPU_MISSING', message))

    def test_waits_until_the_driver_is_loaded(self) -> None:
        self.smi(f"[ -e '{self.folder}/loaded' ] && echo '{T4}' || {{ : >'{self.folder}/loaded'; exit 9; }}")
        self.assertIsNone(await_gpus(self.faults(1), self.wait))
        self.assertEqual(self.waits, 1)

    def test_a_gpu_that_is_not_on_the_bus_is_a_fault_of_the_host_and_a_switch_is_no_gpu(self) -> None:
        self.smi(TWO)
        self.add_devices(2)
        self.add_devices(4, kind='0x068000')
        self.add_devices(1, kind='0x030000', vendor='0x1af4')
        report = self.report(3)
        assert report is not None
        message = 'The VM has 2 of its 3 GPUs on its PCI bus. The program was not started.'
        self.assertEqual((report.reason, report.message), ('GPU_FAILED', message))
        self.assertEqual((report.evidence[0], report.evidence[-1]), (T4, 'NVIDIA GPUs on the PCI bus: 2'))

    def test_a_gpu_without_a_driver_is_a_fault_of_the_image(self) -> None:
        self.add_devices(1)
        self.smi("echo 'No devices were found'; exit 6")
        for evidence in ('No devices were found', 'nvidia-smi -L: [Errno 2]'):
            report = self.report(1)
            assert report is not None
            self.assertEqual(report.reason, 'GPU_MISSING')
            self.assertIn(evidence, report.evidence[0])
            os.environ['PATH'] = ''

    def test_makes_no_claim_about_a_bus_that_cannot_be_read(self) -> None:
        self.smi('exit 9')
        report = self.report(1)
        assert report is not None
        self.assertEqual((report.reason, report.evidence[-1]), ('GPU_MISSING', 'The PCI bus cannot be read.'))

    def test_a_gpu_that_the_driver_has_lost_is_a_fault_of_the_host(self) -> None:
        self.add_devices(2)
        lost = 'Unable to determine the device handle for GPU0000:04:00.0: GPU is lost.  Reboot the system.'
        self.smi(f"echo '{lost}'; exit 15")
        self.assertEqual((report := self.report(2)) and (report.reason, report.evidence[0]), ('GPU_FAILED', lost))
        self.smi(f"echo '{T4}'")
        self.say(OF_PROGRAM)
        self.assertEqual((report := self.report(2)) and report.reason, 'GPU_MISSING')
        self.say('NVRM: GPU 0000:00:05.0: GPU has fallen off the bus.')
        self.assertEqual((report := self.report(2)) and report.reason, 'GPU_FAILED')

    def test_a_gpu_that_has_corrected_an_error_is_used(self) -> None:
        self.add_devices(2)
        self.smi(TWO)
        self.say(*CORRECTED)
        self.assertIsNone(self.report(2))
        self.say(FATAL_LINK)
        self.assertEqual((report := self.report(2)) and report.reason, 'GPU_FAILED')

    def test_a_faulty_gpu_is_not_used(self) -> None:
        self.add_devices(2)
        for ecc, failure, words in (
            ('2, No', 'No', 'GPU 0000:04:00.0: ecc.errors.uncorrected.volatile.total is 2'),
            ('0, Yes', 'No', 'GPU 0000:04:00.0: retired_pages.pending is Yes'),
            ('[N/A], [N/A]', 'Yes', 'GPU 0000:04:00.0: remapped_rows.failure is Yes'),
        ):
            with self.subTest(words):
                self.smi(TWO, ecc, failure)
                report = self.report(2)
                assert report is not None
                self.assertEqual(report.reason, 'GPU_FAILED')
                self.assertEqual(
                    report.message, f'A GPU of the VM has failed: nvidia-smi: {words}. The program was not started.'
                )
        self.smi(TWO, '[N/A], [N/A]', '[N/A]')
        self.assertIsNone(self.report(2))
        self.say(CONTAINED)
        self.assertEqual((report := self.report(2)) and report.evidence[0], f'kernel: {CONTAINED}')

    def test_checks_nothing_for_a_job_without_gpus_which_may_run_on_a_machine_of_others(self) -> None:
        self.say(LOST)
        self.assertIsNone(self.report(0))
        self.assertEqual((self.faults(0).find(), self.faults(0).find_lost()), ((), None))


class FaultsTest(GpuTest):
    def test_a_log_that_cannot_be_read_says_nothing(self) -> None:
        self.smi(TWO)
        self.log.unlink()
        self.assertEqual((self.faults().find(), self.faults().find_lost()), ((), None))

    def test_reads_each_message_once_and_keeps_the_first_faults(self) -> None:
        faults = self.faults()
        self.assertIsNone(faults.find_lost())
        self.say(CONTAINED)
        self.assertIsNone(faults.find_lost())
        self.say(*[LOST] * 1_000)
        self.assertEqual(faults.find_lost(), f'kernel: {LOST}')
        self.log.write_text('')
        self.assertEqual(faults.find(), (f'kernel: {CONTAINED}', *[f'kernel: {LOST}'] * 3))


class ProgramTest(GpuTest):
    """A program that a shell runs while the kernel says something."""

    def run_shell(self, script: str, gpu_count: int = 1, stop_signal: Optional[StopSignal] = None) -> ExitReport:
        self.supervisor = Supervisor(
            Monitored(
                LIMITS,
                stop_signal or StopSignal(),
                lambda: time.monotonic(),
                lambda: 0,
                lambda _stream, _block: None,
                gpu_faults=self.faults(gpu_count),
            )
        )
        command = Command(['/bin/sh', '-c', script], dict(os.environ), self.folder, b'DROPFORGE_VM=test')
        return describe_end(self.supervisor.run_program(partial(ChildProcess, command), 0.0))

    def test_a_failure_after_a_hardware_fault_is_not_the_programs(self) -> None:
        self.smi(TWO)
        self.say(CONTAINED)
        report = self.run_shell('echo "RuntimeError: CUDA error" >&2; exit 1')
        self.assertEqual((report.reason, report.exit_code), ('GPU_FAILED', 1))
        self.assertEqual(report.message, f'A GPU of the VM has failed: kernel: {CONTAINED}')
        self.assertEqual(report.evidence, (f'kernel: {CONTAINED}', 'RuntimeError: CUDA error'))

    def test_a_failure_after_an_ecc_error_that_only_the_driver_counted_is_not_the_programs(self) -> None:
        self.smi(TWO, '1, No')
        report = self.run_shell('exit 1')
        self.assertEqual(report.reason, 'GPU_FAILED')
        self.assertIn('uncorrected.volatile.total is 1', report.evidence[0])

    def test_other_ends_keep_their_reasons(self) -> None:
        self.smi(TWO)
        self.say(OF_PROGRAM)
        self.assertEqual(self.run_shell('exit 1').reason, 'EXITED')
        self.say(CONTAINED)
        self.assertEqual(self.run_shell('exit 1', gpu_count=0).reason, 'EXITED')
        self.assertEqual(self.run_shell('exit 0').reason, 'EXITED')
        stop_signal = StopSignal()
        stop_signal.request_stop(StopNotice('PREEMPTED', 'Preempted.', is_interruption=True))
        self.assertEqual(self.run_shell('sleep 60', stop_signal=stop_signal).reason, 'PREEMPTED')

    def test_a_stall_after_a_hardware_fault_is_not_the_programs(self) -> None:
        self.smi(TWO)
        self.say(CONTAINED)
        stop_signal = StopSignal()
        finding = DecisiveFinding('STALLED', 'stop', 'Read the stack.')
        stop_signal.request_stop(StopNotice('UNHEALTHY', 'It stalled.', health=finding, evidence=('the stack',)))
        report = self.run_shell('sleep 60', stop_signal=stop_signal)
        self.assertEqual((report.reason, report.signal, report.health), ('GPU_FAILED', signal.SIGTERM, None))

    def test_a_program_whose_gpu_is_lost_is_stopped(self) -> None:
        self.smi(TWO)
        threading.Timer(0.2, self.say, [LOST]).start()
        report = self.run_shell('sleep 60')
        self.assertEqual((report.reason, report.signal), ('GPU_FAILED', signal.SIGTERM))
        with self.assertRaises(ReplicaEnded) as ended:
            self.supervisor.check()
        self.assertEqual(ended.exception.report.reason, 'GPU_FAILED')


if __name__ == '__main__':
    unittest.main()
