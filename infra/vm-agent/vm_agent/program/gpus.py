"""The VM's GPUs, before the program starts: training without them would cost as much for a fraction of the speed."""

import re
import time
from typing import Callable, Optional, Tuple

from vm_agent.program.exit_report import ExitReport
from vm_agent.program.gpu_faults import GpuFaults, describe_fault, run_nvidia_smi

# At a boot, the driver may still be loading.
AWAIT_SECONDS_MAX = 60.0
POLL_SECONDS = 2.0
EVIDENCE_LINES_MAX = 20
_UNREACHABLE = re.compile(r'GPU is lost|Unable to determine the device handle')


def list_gpus() -> Tuple[int, Tuple[str, ...]]:
    """Returns how many GPUs the driver has, and what nvidia-smi printed, or why it could not be run."""
    lines = run_nvidia_smi('-L')
    # Below a GPU, the instances that it is divided into are indented.
    return sum(line.startswith('GPU ') for line in lines), lines


def await_gpus(
    faults: GpuFaults, wait: Callable[[float], None], seconds_max: float = AWAIT_SECONDS_MAX
) -> Optional[ExitReport]:
    """
    Returns None as soon as the driver has the requested GPUs and none of them is faulty, or the report on what is wrong
    after `seconds_max`. `wait(seconds)` may raise to end the wait.
    """
    give_up_at = time.monotonic() + seconds_max
    found, lines = list_gpus() if faults.gpu_count > 0 else (0, ())
    while found < faults.gpu_count and time.monotonic() + POLL_SECONDS <= give_up_at:
        wait(POLL_SECONDS)
        found, lines = list_gpus()
    return _evaluate(found, lines, faults)


def _evaluate(found: int, listed: Tuple[str, ...], faults: GpuFaults) -> Optional[ExitReport]:
    """A GPU that is not on the bus, or faulty, is the host's fault; one that only the driver lacks is the image's."""
    requested, on_bus = faults.gpu_count, faults.count_on_bus()
    lines = (*faults.find(), *(line for line in listed if _UNREACHABLE.search(line)))
    if found >= requested and not lines:
        return None
    bus = 'The PCI bus cannot be read.' if on_bus is None else f'NVIDIA GPUs on the PCI bus: {on_bus}'
    evidence = (*lines, *listed[:EVIDENCE_LINES_MAX], bus)
    if found < requested and on_bus is not None and on_bus < requested:
        message = f'The VM has {on_bus} of its {requested} GPUs on its PCI bus. The program was not started.'
        return ExitReport('GPU_FAILED', message, evidence=evidence)
    if lines:
        return ExitReport('GPU_FAILED', f'{describe_fault(lines[0])} The program was not started.', evidence=evidence)
    message = f'The driver has {found} of the {requested} GPUs of the VM. The program was not started.'
    return ExitReport('GPU_MISSING', message, evidence=evidence)
