import type { CauseCode } from '#shared/domain/cause.ts';

/** The texts of a label for the user, and the cause of a failure with it. */
export type LabelFacts = {
  readonly title: string;
  /** The failure in one or two sentences. */
  readonly explanation: string;
  /** The advice if nothing is known about the job. */
  readonly remedy: string;
  /** Whether the same job can succeed when it is started again. */
  readonly canRetryHelp: boolean;
  readonly code: CauseCode;
};

type LabelRow = Omit<LabelFacts, 'canRetryHelp' | 'code'> & Partial<LabelFacts>;

/** Every label of a diagnosis. docs/diagnosis.md has a section for each. */
const ROWS = {
  gpu_oom: {
    title: 'GPU out of memory',
    explanation: 'The model, its activations and the batch did not fit into the memory of the GPU.',
    remedy:
      'Halve the batch size and accumulate gradients over two steps, use mixed precision or activation checkpointing, or choose a GPU with more memory.',
    code: 'OUT_OF_MEMORY',
  },
  host_oom: {
    title: 'Machine out of memory',
    explanation: 'The memory of the VM (not of the GPU) or its shared memory was used up.',
    remedy:
      'Load the data in parts instead of at once, use fewer loader workers or a smaller batch, or choose a machine type with more memory.',
    code: 'OUT_OF_MEMORY',
  },
  gpu_hardware_fault: {
    title: 'GPU hardware fault',
    explanation: 'The driver or the kernel reported an error of the GPU itself. The program is not at fault.',
    remedy: 'No action needed: a new attempt runs on another VM and continues from the last checkpoint.',
    canRetryHelp: true,
    code: 'GPU_FAILED',
  },
  nan_loss: {
    title: 'NaN or infinite loss',
    explanation: 'The loss, a gradient or the data became NaN or infinite.',
    remedy:
      'Lower the learning rate or warm it up, clip gradients (norm 1.0), check the data for NaN and zero divisors, and prefer bfloat16 or a loss scaler to plain float16.',
  },
  loss_diverged: {
    title: 'Loss diverged',
    explanation: 'The loss grew far beyond its earlier values, and the job asked to be stopped for that.',
    remedy:
      'Lower the learning rate or warm it up, and clip gradients (norm 1.0); then continue from an earlier checkpoint.',
    code: 'TRAINING_DIVERGED',
  },
  training_stalled: {
    title: 'Training stalled',
    explanation: 'There was no log line, metric or device activity for longer than the pace of the job explains.',
    remedy:
      'Read the stack in the evidence: a loader that waits, a collective operation that a rank does not join, or a host that does not answer.',
    canRetryHelp: true,
    code: 'TRAINING_STALLED',
  },
  no_gpu_visible: {
    title: 'No GPU visible',
    explanation: 'The program asked for a GPU that the machine does not have or that the process cannot see.',
    remedy:
      'Add the accelerator to the machine in the job file, or use the device numbers that exist; check CUDA_VISIBLE_DEVICES. A program for CPUs must not call CUDA.',
  },
  cuda_driver_mismatch: {
    title: 'CUDA driver mismatch',
    explanation: 'The driver of the machine image is older than the CUDA version that the framework was built for.',
    remedy:
      'Choose a newer runtimeVersion, whose image has a newer driver, or install the build of the framework for the CUDA version of this image.',
  },
  cudnn_mismatch: {
    title: 'cuDNN mismatch',
    explanation:
      'cuDNN could not be initialized: its version does not fit the framework, or the GPU memory was already taken.',
    remedy:
      'Do not install another cuDNN than the framework brings (remove nvidia-cudnn from the requirements, or pin the version that the message asks for). If the versions agree, GPU memory was full: allow growth (TF_FORCE_GPU_ALLOW_GROWTH=true) or use a smaller batch.',
  },
  wrong_arch_package: {
    title: 'Package for another architecture',
    explanation: 'An installed package was built without GPU support, or for another GPU, CPU or platform.',
    remedy:
      'Install the build of the package for this accelerator (for PyTorch, the index https://download.pytorch.org/whl/cuXXX instead of the CPU one), or choose a GPU or machine type that the build supports.',
  },
  nccl_failure: {
    title: 'NCCL failure',
    explanation: 'A collective operation between GPUs failed or timed out, often because another replica had stopped.',
    remedy:
      'Read the logs of the other replicas first: one that failed earlier is the root. Otherwise set NCCL_DEBUG=INFO, check that all ranks call the same operations, and raise the timeout of init_process_group for slow steps.',
    canRetryHelp: true,
  },
  distributed_strategy_misuse: {
    title: 'Distribution strategy misused',
    explanation: 'The program uses several GPUs or machines in a way that its strategy does not allow.',
    remedy:
      'Create model and optimizer inside strategy.scope() (TensorFlow), or start one process per GPU with RANK, WORLD_SIZE and MASTER_ADDR set, for example with torchrun (PyTorch). With one GPU, use no strategy.',
  },
  pip_install_failure: {
    title: 'Package not installable',
    explanation: 'pip found no version of a requirement that fits this Python and platform, or could not verify it.',
    remedy:
      'Correct the version in requirements.txt or setup.py to one that the message lists, or choose the runtime whose Python the package supports.',
  },
  pip_resolution_conflict: {
    title: 'Conflicting requirements',
    explanation: 'Two requirements need different versions of the same package.',
    remedy:
      'Loosen or remove one of the pins that the message names; packages that the runtime already has need no pin.',
  },
  build_failure: {
    title: 'Package not buildable',
    explanation: 'A package without a wheel for this platform had to be compiled, and that failed.',
    remedy:
      'Pin a version that has a wheel for this Python, add what its setup.py imports, or choose a runtime with the compiler or header that the message names.',
  },
  import_error: {
    title: 'Import failed',
    explanation: 'A module or a shared library that the program imports is missing or does not fit.',
    remedy:
      'Add the module to install_requires or requirements.txt (of a container: install it in the image), include its file in the package, or pin the version that the program was written for.',
    code: 'MODULE_NOT_FOUND',
  },
  permission_denied: {
    title: 'Permission denied',
    explanation: 'The account of the VM or of the program may not do what it tried, or there were no credentials.',
    remedy:
      'Grant the service account of the job the permission that the message names (for objects: roles/storage.objectAdmin on the bucket), or set serviceAccount in the job file. Local files: write below the output directory.',
  },
  vpc_sc_violation: {
    title: 'Blocked by VPC Service Controls',
    explanation: "The organization's service perimeter blocked a request. IAM roles do not change that.",
    remedy:
      'Give the unique identifier of the message to the administrator of the perimeter (gcloud logging read shows the violation), who adds an ingress or egress rule, or use resources inside of the perimeter.',
  },
  not_found_data: {
    title: 'Data not found',
    explanation: 'A file, an object, a bucket or a model that the program uses does not exist where it looked.',
    remedy:
      'Correct the path. The VM has only what the package contains and what the program downloads: read data from gs:// or /gcs/, not from paths of your own machine. A folder to write to has to be created first (os.makedirs).',
  },
  quota_exceeded: {
    title: 'Quota exceeded',
    explanation: 'A quota or a rate limit of the project was exceeded.',
    remedy: 'Request a higher limit for the quota that the message names, use fewer resources, or another region.',
    canRetryHelp: true,
  },
  stockout: {
    title: 'Out of capacity',
    explanation: 'The zone had no machine of the requested kind at that time.',
    remedy: 'Use another zone, region, machine type or GPU, or try again later.',
    canRetryHelp: true,
  },
  preempted: {
    title: 'Preempted',
    explanation: 'The machine was taken back while the program ran.',
    remedy: 'Save checkpoints often enough and continue from them; on-demand machines are not preempted.',
    canRetryHelp: true,
  },
  killed_timeout: {
    title: 'Stopped at a time limit',
    explanation: 'The program was stopped because its time was over.',
    remedy: 'Raise the time limit, or train fewer steps; save checkpoints so that the next run continues.',
  },
  network_error: {
    title: 'Network error',
    explanation: 'A host could not be reached or answered with an error, or a connection broke.',
    remedy:
      'Retry. If it happens again, check that the VM may reach the host (firewall, Cloud NAT, Private Google Access), or copy what is downloaded to a bucket.',
    canRetryHelp: true,
  },
  disk_full: {
    title: 'Disk full',
    explanation: 'The disk of the VM, or a quota on it, was used up.',
    remedy:
      'Request a larger boot disk (bootDiskSizeGb; in the embedded cloud, raise diskBytesMax), keep fewer checkpoints, or download less.',
    code: 'DISK_FULL',
  },
  checkpoint_corrupt: {
    title: 'Checkpoint unusable',
    explanation:
      'A checkpoint, or another file that the program loads, is incomplete, damaged, of another format, or of another model.',
    remedy:
      'Compare the size of the file with that at its source, and copy it again if they differ. Of a checkpoint, use an earlier one, or another job directory to start from scratch; write checkpoints under a temporary name and rename them when they are complete.',
  },
  shape_or_dtype_error: {
    title: 'Shape or type does not fit',
    explanation: 'Tensors, labels or weights do not have the shape or data type that an operation needs.',
    remedy:
      'Compare the shapes or types in the message with the data and the first layer: number of classes and channels, labels from 0, float32 or the type of the model.',
  },
  segfault: {
    title: 'Crash in native code',
    explanation: 'A library crashed with an invalid memory access; Python saw no exception.',
    remedy:
      'Set PYTHONFAULTHANDLER=1 for the stack. Usual reasons are libraries of versions that do not fit together, and loader workers: try num_workers 0.',
    canRetryHelp: true,
  },
  user_exception: {
    title: 'Error in the program',
    explanation: 'The program raised an exception that no other rule explains.',
    remedy: 'Read the exception and the last frame of the program below, fix it and submit again.',
  },
} as const satisfies Readonly<Record<string, LabelRow>>;

export type Label = keyof typeof ROWS;

/** Most failures are of the program itself, and happen again when it is started again. */
const USUAL = { canRetryHelp: false, code: 'PROGRAM_FAILED' } as const;

/** Object.fromEntries loses the type of the labels. */
export const LABELS = Object.fromEntries(
  Object.entries(ROWS).map(([label, row]) => [label, { ...USUAL, ...row }]),
) as Readonly<Record<Label, LabelFacts>>;

/** The section of the label in the documentation. */
export function linkToLabel(label: string): string {
  return `docs/diagnosis.md#${label}`;
}
