"""
Faults of the VM's GPUs themselves, which are no fault of the program: another VM can help.

Which Xids are of the hardware, its links or its firmware, which can follow from a program (13, 31, 43, 45 and the
exceptions of engines), and which need no action (63, 92, 121, what is `Nonfatal`), is from NVIDIA:
docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html
"""

import re
import subprocess
from pathlib import Path
from typing import Iterator, List, Optional, Tuple

from vm_agent.program.kernel_messages import KERNEL_LOG, LINE_CHARS_MAX, LINES_MAX, open_kernel_log, read_new

PCI_DEVICES = Path('/sys/bus/pci/devices')
NVIDIA_VENDOR = '0x10de'
# Display controllers (PCI Code and ID Assignment Specification); NVIDIA's switches are bridges, 0x0680.
GPU_CLASS = '0x03'
QUERY_SECONDS_MAX = 20.0
# Memory (48, 64, 94, 95, 140, 171, 172), microcontrollers (62, 119, 120), NVLink (74, 136, 144 to 150), the bus (79),
# initialization (143) and a fatal timeout (158).
_FAULT = re.compile(
    r'NVRM: Xid \([^)]{0,40}\): (?:48|62|64|74|79|94|95|119|120|136|14[03-9]|150|158|17[12])\b(?!.{0,80}Nonfatal)|'
    r'NVRM: .{0,80}fallen off the bus'
)
_LOST = re.compile('fallen off the bus')
# The errors that the driver has counted since this boot, when it was loaded, and the rows that it could not remap.
MEMORY_QUERIES = (
    '--query-gpu=pci.bus_id,ecc.errors.uncorrected.volatile.total,retired_pages.pending',
    '--query-remapped-rows=gpu_bus_id,remapped_rows.failure',
)


def run_nvidia_smi(*arguments: str) -> Tuple[str, ...]:
    """Returns the lines that it printed, or why it could not be run."""
    command = ('nvidia-smi', *arguments)
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except OSError as error:
        return (f'{" ".join(command)}: {error}',)
    try:
        return tuple(process.communicate(timeout=QUERY_SECONDS_MAX)[0].decode('utf-8', 'replace').splitlines())
    except subprocess.TimeoutExpired as error:
        # Not awaited: a driver that hangs can keep it from ending.
        process.kill()
        return (str(error),)


class GpuFaults:
    """
    What is known since the VM booted; an attempt has VMs of its own. Only for GPUs that the job has requested: those of
    a machine that the embedded cloud runs on serve other programs, and no other VM has better ones. Not thread-safe.
    """

    def __init__(self, gpu_count: int, kernel_log: str = KERNEL_LOG, pci_devices: Path = PCI_DEVICES) -> None:
        self.gpu_count, self._pci_devices = gpu_count, pci_devices
        self._log = open_kernel_log(kernel_log) if gpu_count > 0 else None
        self.lines: List[str] = []
        """The kernel's, as far as they were read."""
        self._lost: Optional[str] = None

    def find_lost(self) -> Optional[str]:
        """Returns the kernel's line about a GPU with which no program can go on, or None. Does not wait."""
        for _, message in read_new(self._log):
            if _FAULT.search(message):
                # The first ones are the root of those that follow.
                self.lines += [message[:LINE_CHARS_MAX]] if len(self.lines) < LINES_MAX else []
                self._lost = self._lost or (message[:LINE_CHARS_MAX] if _LOST.search(message) else None)
        return self._lost

    def find(self) -> Tuple[str, ...]:
        """Returns a line for each fault, from the kernel or else from nvidia-smi, for which it waits some seconds."""
        self.find_lost()
        return tuple(self.lines or _find_memory_faults()) if self.gpu_count > 0 else ()

    def count_on_bus(self) -> Optional[int]:
        """Returns the GPUs with or without a driver, or None if the bus cannot be read."""
        try:
            devices = list(self._pci_devices.iterdir())
            of_nvidia = [path for path in devices if (path / 'vendor').read_text().startswith(NVIDIA_VENDOR)]
            return sum((path / 'class').read_text().startswith(GPU_CLASS) for path in of_nvidia)
        except OSError:
            return None


def describe_fault(line: str) -> str:
    return f'A GPU of the VM has failed: {line.rstrip(".")}.'


def _find_memory_faults() -> Iterator[str]:
    """A value that a GPU does not have is `[N/A]`, and a query that this driver does not know prints a sentence."""
    for query in MEMORY_QUERIES:
        _, *names = query.split(',')
        for line in run_nvidia_smi(query, '--format=csv,noheader'):
            bus_id, *values = line.split(', ')
            for name, value in zip(names, values):
                if value == 'Yes' or (value.isdecimal() and int(value) > 0):
                    yield f'nvidia-smi: GPU {bus_id}: {name} is {value}.'
