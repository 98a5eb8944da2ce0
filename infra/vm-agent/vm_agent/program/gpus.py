"""The VM's GPUs, before the program starts: training without them would cost their price for a fraction of the speed."""

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional, Tuple

from vm_agent.program.exit_report import ExitReport

LIST_COMMAND = ('nvidia-smi', '-L')
LIST_SECONDS_MAX = 20.0
# At a boot, the driver may still be loading.
AWAIT_SECONDS_MAX = 60.0
POLL_SECONDS = 2.0
EVIDENCE_LINES_MAX = 20
PCI_DEVICES = Path('/sys/bus/pci/devices')
NVIDIA_VENDOR = '0x10de'


@dataclass(frozen=True)
class GpuListing:
    count: int
    lines: Tuple[str, ...]
    """What nvidia-smi printed, or why it could not be run."""


def list_gpus() -> GpuListing:
    """Returns the GPUs that the driver has; none if there is no driver."""
    try:
        listed = subprocess.run(
            LIST_COMMAND,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIST_SECONDS_MAX,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return GpuListing(0, (f'{" ".join(LIST_COMMAND)}: {error}',))
    lines = tuple(listed.stdout.decode('utf-8', 'replace').splitlines())
    # Below a GPU, the instances that it is divided into are indented.
    return GpuListing(sum(line.startswith('GPU ') for line in lines), lines)


def await_gpus(
    expected: int, wait: Callable[[float], None], seconds_max: float = AWAIT_SECONDS_MAX
) -> Optional[ExitReport]:
    """
    Returns None as soon as the driver has the expected number of GPUs, or the report on what is missing after
    `seconds_max`. `wait(seconds)` may raise to end the wait.
    """
    give_up_at = time.monotonic() + seconds_max
    while expected > 0:
        found = list_gpus()
        if found.count >= expected:
            return None
        if time.monotonic() + POLL_SECONDS > give_up_at:
            message = f'The VM has {found.count} of its {expected} GPUs. The program was not started.'
            return ExitReport('GPU_MISSING', message, evidence=_evidence(found))
        wait(POLL_SECONDS)
    return None


def _evidence(found: GpuListing) -> Tuple[str, ...]:
    return (*found.lines[:EVIDENCE_LINES_MAX], f'NVIDIA devices on the PCI bus: {_count_pci_devices()}')


def _count_pci_devices() -> int:
    """GPUs without a driver are counted, too; so are NVIDIA's switches."""
    count = 0
    for vendor in PCI_DEVICES.glob('*/vendor'):
        try:
            count += vendor.read_text().strip() == NVIDIA_VENDOR
        except OSError:
            continue
    return count
