import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vm_agent.metrics.samples.boot_clock import BootClock
from vm_agent.metrics.system_metrics import SystemMeter, SystemReading, SystemSampler
from vm_agent.program.counters import Counters, rates_between, read_counters
from vm_agent.program.gpu_meter import GpuMeter

AWAIT_SECONDS_MAX = 20.0


class CountersTest(unittest.TestCase):
    def test_are_read_of_this_machine(self) -> None:
        if sys.platform == 'linux':
            self.assertIsNotNone(read_counters().network_received)

    def test_rates_leave_out_what_is_unknown_or_was_reset(self) -> None:
        before, after = Counters(1_000, None, 500, 7), Counters(3_000, 9, 400, 7)
        self.assertEqual(rates_between(before, after, 10.0), {'disk_read': 200.0, 'network_sent': 0.0})
        self.assertEqual(rates_between(before, after, 0.0), {})


class GpuMeterTest(unittest.TestCase):
    """With an executable called nvidia-smi on the PATH."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.addCleanup(os.environ.__setitem__, 'PATH', os.environ['PATH'])
        os.environ['PATH'] = f'{holder.name}:{os.environ["PATH"]}'
        self.meter = GpuMeter()

    def install(self, script: str) -> None:
        path = self.folder / 'nvidia-smi'
        path.write_text(f'#!/bin/sh\n{script}\n')
        path.chmod(0o755)

    def measure(self) -> SystemReading:
        return SystemMeter(self.folder, self.meter, BootClock()).measure()

    def test_the_gpus_are_part_of_each_reading(self) -> None:
        self.install('echo "NVIDIA L4, 50, 100, 23034, 31.5, 48, [N/A]"')
        self.meter.start()
        give_up_at = time.monotonic() + AWAIT_SECONDS_MAX
        while not self.meter.latest() and time.monotonic() < give_up_at:
            pass
        values = self.measure().values
        self.assertEqual(
            {name: value for name, value in values.items() if name.startswith('gpu/')},
            {
                'gpu/0/utilization': 0.5,
                'gpu/0/memory-used': 104_857_600,
                'gpu/0/memory-total': 24_152_899_584,
                'gpu/0/power': 31.5,
                'gpu/0/temperature': 48.0,
            },
        )
        self.assertGreater(values['disk/free'], 0)

    def test_a_driver_that_hangs_delays_no_reading(self) -> None:
        self.install('exec sleep 6')
        self.meter.start()
        began_at = time.monotonic()
        self.assertEqual(self.measure().gpus, ())
        self.assertLess(time.monotonic() - began_at, 2.0)


class SystemSamplerTest(unittest.TestCase):
    def test_a_listener_that_fails_costs_no_other_its_readings_and_is_reported_once(self) -> None:
        lines: List[Tuple[str, str]] = []
        with tempfile.TemporaryDirectory() as folder:
            meter = SystemMeter(Path(folder), GpuMeter(), BootClock())
            sampler = SystemSampler(meter, lambda text, severity: lines.append((severity, text)))
            readings: List[SystemReading] = []

            def fail(reading: SystemReading) -> None:
                raise ValueError(f'unexpected: {len(reading.values)}')

            sampler.on_reading += [fail, readings.append]
            sampler.sample()
            sampler.sample()
        self.assertEqual(len(readings), 2)
        self.assertEqual([severity for severity, _ in lines], ['WARNING'])
        self.assertIn('memory/used', readings[0].values)


if __name__ == '__main__':
    unittest.main()
