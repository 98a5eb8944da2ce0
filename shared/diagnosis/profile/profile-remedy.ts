import type { ProfileFacts } from '#shared/diagnosis/profile/profile-samples.ts';
import type { ProfileShares, ProfileVerdictCode, TopFrame } from '#shared/diagnosis/profile/profile-verdict.ts';

type Grounds = {
  readonly shares: ProfileShares;
  readonly facts: ProfileFacts;
  readonly topFrames: readonly TopFrame[];
};

/** Of all cores: no worker more would find one that is free. */
const CPU_FULL_FRACTION = 0.85;
const GPU_IDLE_FRACTION_MAX = 0.1;

/** What to change in the program or its machine; the first sentence is the most likely remedy. */
export function remedyOf(code: ProfileVerdictCode, grounds: Grounds): string {
  switch (code) {
    case 'INPUT_BOUND':
      return inputRemedy(grounds);
    case 'PYTHON_BOUND':
      return pythonRemedy(grounds);
    case 'DEVICE_BOUND':
      return deviceRemedy(grounds);
    case 'UNCLEAR':
      return unclearRemedy(grounds);
  }
}

function inputRemedy({ facts, topFrames }: Grounds): string {
  const { workerCount, workerCpu, processCpu, cpuCount } = facts;
  if (workerCpu + processCpu >= CPU_FULL_FRACTION * cpuCount) {
    return (
      'All CPU cores are busy: choose a machine type with more of them, make the preprocessing cheaper (smaller images, ' +
      'another decoder), or do it once and store its result.'
    );
  }
  if (topFrames.some(({ kind, file }) => kind === 'INPUT' && /tensorflow|keras/.test(file))) {
    return 'Add .prefetch(tf.data.AUTOTUNE) and num_parallel_calls=tf.data.AUTOTUNE to the tf.data pipeline, and .cache() if the data fits in memory.';
  }
  if (workerCount === 0) {
    return `Load the data in other processes: DataLoader(…, num_workers=${Math.max(2, cpuCount - 1)}, prefetch_factor=4, persistent_workers=True, pin_memory=True).`;
  }
  return (
    `The workers mostly wait themselves, for a disk or a network: use more of them (num_workers=${4 * workerCount}), read ` +
    'larger files (TAR, TFRecord, Parquet) instead of many small ones, or copy the data to the VM first.'
  );
}

function pythonRemedy({ topFrames, facts }: Grounds): string {
  const [first] = topFrames.filter(({ kind }) => kind === 'PYTHON');
  const isOptimizer = first !== undefined && /torch\/optim\//.test(first.file);
  const where = first === undefined ? '' : ` The most of it is in ${first.name} (${shortFile(first.file)}).`;
  if (isOptimizer) {
    return `Use the fused or foreach form of the optimizer (fused=True), or torch.compile.${where}`;
  }
  const gpu =
    facts.gpuBusyFractions.length > 0
      ? ' Larger batches, torch.compile (or tf.function, jax.jit) and CUDA graphs give the GPU more work for each line of Python.'
      : '';
  return `Replace loops over elements by operations on whole arrays, and move what does not depend on the step out of the loop.${where}${gpu}`;
}

function deviceRemedy({ facts }: Grounds): string {
  const { gpuBusyFractions } = facts;
  if (gpuBusyFractions.length === 0) {
    return 'The computation itself limits the training: use a GPU, more CPU cores (and set OMP_NUM_THREADS to their number), or a smaller model.';
  }
  if (gpuBusyFractions.every((fraction) => fraction <= GPU_IDLE_FRACTION_MAX)) {
    return 'The CPU computes while the GPU is idle: move the model and every batch to the GPU (model.to("cuda")), and check that the package is built for CUDA.';
  }
  return (
    'The GPU limits the training, as it should. To be faster: mixed precision (torch.autocast), torch.compile, ' +
    'channels_last, fewer .item() and .cpu() calls in the loop, or a larger GPU.'
  );
}

function unclearRemedy({ shares }: Grounds): string {
  if (shares.STARTUP >= 0.2) {
    return 'The program was still importing modules: profile it again when it trains.';
  }
  if (shares.WAIT_FOR_OTHERS >= 0.4) {
    return 'The main process waits for others: profile another replica (--replica), and start processes with torchrun, so that the one that trains is found.';
  }
  if (shares.SAVE >= 0.2) {
    return 'Save checkpoints less often, or in the background.';
  }
  return 'Open the file at https://www.speedscope.app and look at the widest functions, or profile longer (--seconds).';
}

function shortFile(file: string): string {
  return file.split('/').slice(-2).join('/');
}
