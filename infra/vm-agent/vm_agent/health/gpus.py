"""GPU_IDLE, GPU_MEMORY_LOW_USE and INPUT_BOUND: what the GPUs do, and what keeps them waiting."""

from collections import deque
from dataclasses import dataclass
from statistics import mean, pstdev
from typing import Deque, Dict, List, Optional, Sequence, Tuple

from vm_agent.health.finding import Condition, Finding, describe_bytes, describe_seconds
from vm_agent.health.reading import Reading

IDLE_FRACTION_MAX = 0.03
IDLE_SECONDS_MIN = 600.0
BUSY_SECONDS_MIN = 60.0
# The share of the memory that is used at its peak: below it, a batch of twice the size fits in any case.
LOW_USE_FRACTION_MAX = 0.4
# A part of the memory stays free for fragmentation.
USABLE_FRACTION = 0.9
LOW_USE_SECONDS_MIN = 900.0
# In use by the program, not just by its driver context.
WORKING_FRACTION_MIN = 0.1
# The number of readings that are compared: those of some minutes.
WINDOW = 30
INPUT_BUSY_FRACTION_MAX = 0.6
INPUT_BUSY_FRACTION_MIN = 0.03
SAWTOOTH_MIN = 0.12
CPU_SATURATED_FRACTION = 0.9
DISK_BYTES_PER_SECOND_MIN = 80 * 2**20
NETWORK_BYTES_PER_SECOND_MIN = 40 * 2**20
INPUT_SECONDS_MIN = 120.0


class GpuIdleDetector:
    """Not thread-safe."""

    def __init__(self) -> None:
        self._conditions: Dict[int, Condition] = {}
        self._names: Dict[int, str] = {}

    def add(self, reading: Reading) -> None:
        for index, gpu in enumerate(reading.gpus):
            condition = self._conditions.setdefault(index, Condition(IDLE_SECONDS_MIN, BUSY_SECONDS_MIN))
            condition.update(gpu.busy_fraction < IDLE_FRACTION_MAX, reading.at)
            self._names[index] = gpu.name

    def findings(self) -> List[Finding]:
        begun = {index: one for index, one in self._conditions.items() if one.since is not None}
        if not begun:
            return []
        active = [index for index, one in begun.items() if one.is_active]
        shown = active or list(begun)
        since = min(begun[index].since or 0.0 for index in shown)
        until = None if active else max(begun[index].until or 0.0 for index in shown)
        count = len(self._conditions)
        names = 'The GPU' if count == 1 else f'{len(shown)} of {count} GPUs'
        verb = 'has' if count == 1 or len(shown) == 1 else 'have'
        remedy = (
            'Check that the program moves the model and the data to the GPU (device = "cuda"; for TensorFlow, that '
            'tf.config.list_physical_devices("GPU") is not empty), or use a machine without GPUs.'
            if len(shown) == count
            else 'Use all GPUs (torchrun or accelerate, tf.distribute.MirroredStrategy), or request fewer.'
        )
        lasts = describe_seconds(IDLE_SECONDS_MIN)
        message = f'{names} {verb} been used less than {100 * IDLE_FRACTION_MAX:.0f} % for {lasts} or more.'
        evidence = tuple(f'GPU {index}: {self._names[index]}, idle' for index in shown)
        return [Finding('GPU_IDLE', message, remedy, since, evidence, until)]


class GpuMemoryDetector:
    """Not thread-safe. The peak counts: memory that was used once is needed."""

    def __init__(self) -> None:
        self._peak = 0.0
        self._peak_bytes = 0
        self._bytes_max = 0
        self._condition = Condition(LOW_USE_SECONDS_MIN, 0.0)

    def add(self, reading: Reading) -> None:
        for gpu in reading.gpus:
            if gpu.memory_bytes_max > 0 and gpu.memory_bytes / gpu.memory_bytes_max > self._peak:
                self._peak = gpu.memory_bytes / gpu.memory_bytes_max
                self._peak_bytes, self._bytes_max = gpu.memory_bytes, gpu.memory_bytes_max
        is_working = any(gpu.busy_fraction >= WORKING_FRACTION_MIN for gpu in reading.gpus)
        is_low = 0 < self._peak < LOW_USE_FRACTION_MAX
        if is_working or not is_low:
            self._condition.update(is_low, reading.at)

    def findings(self) -> List[Finding]:
        since = self._condition.since
        if since is None:
            return []
        times = max(2, int(USABLE_FRACTION / max(self._peak, 0.01)))
        peak, total = describe_bytes(self._peak_bytes), describe_bytes(self._bytes_max)
        message = f'At most {peak} of {total} of GPU memory were used: the batch could be about {times} times larger.'
        remedy = (
            f'Multiply the batch size by up to {times} (and adapt the learning rate), which uses the GPU better, or '
            'choose a smaller and cheaper GPU.'
        )
        evidence = (f'peak of GPU memory: {peak} of {total} ({100 * self._peak:.0f} %)',)
        return [Finding('GPU_MEMORY_LOW_USE', message, remedy, since, evidence, self._condition.until)]


@dataclass(frozen=True)
class _Load:
    gpu: float
    cpu: float
    cpu_count: int
    disk: float
    network: float


class InputBoundDetector:
    """Not thread-safe. The GPUs work in bursts while something that feeds them is at its limit."""

    def __init__(self) -> None:
        self._loads: Deque[_Load] = deque(maxlen=WINDOW)
        self._condition = Condition(INPUT_SECONDS_MIN, INPUT_SECONDS_MIN)
        self._message = ''
        self._remedy = ''
        self._evidence: Tuple[str, ...] = ()

    def add(self, reading: Reading) -> None:
        if not reading.gpus or reading.cpu_fraction is None:
            return
        self._loads.append(
            _Load(
                gpu=mean(gpu.busy_fraction for gpu in reading.gpus),
                cpu=reading.cpu_fraction,
                cpu_count=reading.cpu_count,
                disk=reading.disk_read_bytes_per_second or 0.0,
                network=reading.network_read_bytes_per_second or 0.0,
            )
        )
        limit = self._find_limit() if len(self._loads) == WINDOW else None
        self._condition.update(limit is not None, reading.at)

    def findings(self) -> List[Finding]:
        since = self._condition.since
        if since is None:
            return []
        until = self._condition.until
        return [Finding('INPUT_BOUND', self._message, self._remedy, since, self._evidence, until)]

    def _find_limit(self) -> Optional[str]:
        gpu = [load.gpu for load in self._loads]
        is_low = INPUT_BUSY_FRACTION_MIN < mean(gpu) < INPUT_BUSY_FRACTION_MAX
        if not is_low or pstdev(gpu) < SAWTOOTH_MIN:
            return None
        cpu = mean(load.cpu for load in self._loads)
        cores = self._loads[-1].cpu_count
        disk, network = mean(load.disk for load in self._loads), mean(load.network for load in self._loads)
        limit, remedy = _explain_input((cpu, cores, disk, network))
        if limit is not None:
            self._message = (
                f'The GPU waits for data: it is used {100 * mean(gpu):.0f} % on average, in bursts, and {limit}.'
            )
            self._remedy = remedy
            self._evidence = (
                'GPU use in percent: ' + ' '.join(f'{100 * value:.0f}' for value in gpu[-12:]),
                f'CPU {100 * cpu:.0f} % of {cores} cores, disk {describe_bytes(disk)}/s, '
                f'network {describe_bytes(network)}/s',
            )
        return limit


def _explain_input(load: Sequence[float]) -> Tuple[Optional[str], str]:
    cpu, cores, disk, network = load
    if cpu >= CPU_SATURATED_FRACTION:
        return (
            f'all {cores:.0f} processor cores are busy',
            'Prepare the data once and save it (decoded, resized), move augmentation to the GPU, or choose a machine '
            'type with more vCPUs for each GPU.',
        )
    if network >= NETWORK_BYTES_PER_SECOND_MIN:
        return (
            f'{describe_bytes(network)}/s are read from the network',
            'Copy the data to the local disk first, read larger files (TFRecord, WebDataset, Parquet) instead of many '
            'small ones, and prefetch: more workers, prefetch_factor, dataset.prefetch(AUTOTUNE).',
        )
    if disk >= DISK_BYTES_PER_SECOND_MIN:
        return (
            f'{describe_bytes(disk)}/s are read from the disk',
            'Use a faster or larger disk (disk: { size: 500, type: pd-ssd }), keep the data in memory after the first '
            'epoch (dataset.cache()), and prefetch.',
        )
    busy_cores = cpu * cores
    if cores >= 2 and 0.8 <= busy_cores <= 1.5:
        return (
            f'only about one of {cores:.0f} processor cores is busy',
            f'Load data in parallel: DataLoader(num_workers={max(2, min(8, int(cores) - 1))}, pin_memory=True, '
            'persistent_workers=True), or dataset.map(…, num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE).',
        )
    return None, ''
