import { describe, expect, it } from 'vitest';
import { classifyExit } from '#shared/diagnosis/classify-exit.ts';
import { findBatchSize, type JobFacts } from '#shared/diagnosis/job-facts.ts';
import { RULES } from '#shared/diagnosis/rules/all-rules.ts';
import { LABELS } from '#shared/diagnosis/rules/labels.ts';
import { CAUSES, type Cause } from '#shared/domain/cause.ts';
import { NO_USAGE } from '#shared/domain/replica.ts';
import { factsOf } from '../../support/diagnosis/job-facts.ts';

const T4 = { machineType: 'n1-standard-8', accelerator: { type: 'nvidia-tesla-t4', count: 1 } };

function causeOf(lines: readonly string[], facts: Partial<JobFacts> = {}): Cause {
  const exit = classifyExit(
    { reason: 'EXITED', exitCode: 1, signal: null, message: 'The program ended.', evidence: lines },
    { ...factsOf('digits'), ...facts },
  );
  if (exit.outcome !== 'FAILED') {
    throw new Error('This exit was classified as a success.');
  }
  return exit.cause;
}

function remedyOf(lines: readonly string[], facts: Partial<JobFacts> = {}): string | undefined {
  return causeOf(lines, facts).diagnosis?.remedy;
}

const OOM =
  'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.87 GiB (GPU 0; 14.76 GiB total capacity; 8.77 GiB already allocated)';

describe('the remedy for a GPU that is out of memory', () => {
  it('halves the batch of the arguments, accumulates gradients, and names other machines', () => {
    const moreGpuMemory = ['2 x nvidia-tesla-t4 on n1-standard-16', '1 x nvidia-l4 on g2-standard-8'];
    const remedy = remedyOf([OOM], { args: ['--batch-size', '256'], machine: T4, moreGpuMemory });
    expect(remedy).toContain('nvidia-tesla-t4 has 14.76 GiB, and 2.87 GiB more did not fit.');
    expect(remedy).toContain('Reduce --batch-size 256 to 128, with gradient accumulation (2 steps of 128)');
    expect(remedy).toContain('or 2 x nvidia-tesla-t4 on n1-standard-16, or 1 x nvidia-l4 on g2-standard-8.');
  });

  it.each([
    [['  File "/v/transformers/trainer.py", line 1', OOM], 'gradient_accumulation_steps=2'],
    [['  File "/v/pytorch_lightning/trainer.py", line 1', OOM], 'Trainer(accumulate_grad_batches=2)'],
    [['xgboost.core.XGBoostError: cudaErrorMemoryAllocation: out of memory'], 'QuantileDMatrix'],
    [['Namespace(batch_size=64, lr=0.1)', OOM], 'Reduce batch_size 64 to 32'],
  ])('is that of the framework and of what was printed: %j', (lines, part) => {
    expect(remedyOf(lines)).toContain(part);
  });
});

describe('a remedy', () => {
  it('never says to delete a file', () => {
    const remedies = [...Object.values(LABELS), ...RULES, ...Object.values(CAUSES)].map(({ remedy }) => remedy ?? '');
    expect(remedies.filter((remedy) => /\b(?:delete|erase|wipe|rm)\b/i.test(remedy))).toEqual([]);
  });

  it.each([
    // A whole model, and a file in another encoding, are not damaged.
    ['_pickle.UnpicklingError: Weights only load failed. This file can still be loaded', 'weights_only=False'],
    ["UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9 in position 12: invalid continuation byte", 'encoding='],
    ['RuntimeError: Error(s) in loading state_dict for Net: Missing key(s) in state_dict: "a"', 'with the arguments'],
    ["AttributeError: module 'numpy' has no attribute 'float'.", 'numpy<1.24'],
    ["AttributeError: 'DataFrame' object has no attribute 'iteritems'", 'pandas<2'],
    [
      '  File "/usr/lib/python3.11/os.py", line 679, in __getitem__\nKeyError: \'DATA_DIR\'',
      'under env of the job file',
    ],
    ['OSError: You are trying to access a gated repo.', 'secrets: { HF_TOKEN'],
    ["ModuleNotFoundError: No module named 'pkg_resources'", 'setuptools<81'],
    ["SyntaxError: Missing parentheses in call to 'print'. Did you mean print(...)?", '2to3'],
    ["ModuleNotFoundError: No module named 'cPickle'", '2to3'],
    ["_pickle.UnpicklingError: invalid load key, 'v'.", 'git lfs pull'],
    ['UnpicklingError: Weights only load failed.\nWeightsUnpickler error: \nUnsupported operand 118', 'git lfs pull'],
    ['AttributeError: `np.Inf` was removed in the NumPy 2.0 release. Use `np.inf` instead.', 'np.Inf is np.inf'],
    ["RuntimeError: Distributed package doesn't have NCCL built in", "init_process_group('gloo')"],
    ["ValueError: could not convert string to float: '100C'", 'the text that the message quotes'],
    ['RuntimeError: Expected all tensors to be on the same device, but got index is on cpu', 'model.to(device)'],
    ['RuntimeError: CUDA error: an illegal memory access was encountered', 'CUDA_LAUNCH_BLOCKING=1'],
    ['ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!', "init_process_group('gloo')"],
    ["PermissionError: [Errno 13] Permission denied: '/runtime'", 'below the output directory'],
    [
      'requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/a',
      'HF_TOKEN',
    ],
    ['ValueError: No valid checkpoint found in output directory (out)', 'get_last_checkpoint'],
    ['ImportError: attempted relative import with no known parent package', 'as a module of its package'],
    ["AttributeError: module 'xgboost.compat' has no attribute 'XGBoostLabelEncoder'", 'require the version'],
    [
      "ImportError: Cannot load backend 'TkAgg' which requires the 'tk' interactive framework, as 'headless' is currently running",
      'MPLBACKEND=Agg',
    ],
    ['OSError: [Errno 28] inotify watch limit reached', 'Switch off the automatic reload'],
    ['RuntimeError: Expected to have finished reduction in the prior iteration', 'find_unused_parameters=True'],
    ['RuntimeError: Cannot re-initialize CUDA in forked subprocess.', "set_start_method('spawn')"],
  ])('of %s says what to do', (text, part) => {
    expect(remedyOf(text.split('\n'))).toContain(part);
  });

  it.each([
    // The file system of shared memory reports what a disk reports.
    ['RuntimeError: unable to write to file </torch_8289_606_0>: No space left on device (28)', 'host_oom'],
    ['    self._rlock = ctx.Lock()\nOSError: [Errno 28] No space left on device', 'host_oom'],
    // A worker that ended follows from what is printed above.
    [
      'current process has finished its bootstrapping phase.\nRuntimeError: DataLoader worker (pid(s) 1) exited unexpectedly',
      'distributed_strategy_misuse',
    ],
    // A setting that compiles assertions in, a compiler that runs with the program, and words of statistics.
    ['RuntimeError: CUDA error: invalid device ordinal\nCompile with `TORCH_USE_CUDA_DSA` to enable', 'no_gpu_visible'],
    ['RuntimeError: nvrtc: error: invalid value for --gpu-architecture (-arch)', 'wrong_arch_package'],
    ["InvalidParameterError: The 'strategy' parameter must be a str among {'mean', 'median'}.", 'user_exception'],
    ['ValueError: the support of the distribution Categorical(logits)', 'user_exception'],
    ["KeyError: 'RANK'", 'distributed_strategy_misuse'],
    // NumPy prints its type with a number, and PyTorch says what a tensor is for.
    ['ValueError: the data contains only one class: np.int64(1)', 'user_exception'],
    ["RuntimeError: Can't call numpy() on Tensor that requires grad.", 'user_exception'],
    ["AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'", 'wrong_arch_package'],
  ])('does not mislead about %s', (text, label) => {
    expect(causeOf(text.split('\n')).diagnosis?.label).toBe(label);
  });

  it('does not call a file damaged whose class has moved, nor a package missing whose module is', () => {
    const moved = causeOf(["AttributeError: Can't get attribute 'Net' on <module '__main__' from 'train.py'>"]);
    expect(moved.message).toContain('an object of a class Net, which is not where it was');
    const module = causeOf(["ModuleNotFoundError: No module named 'keras.src.engine'"]);
    expect(module.message).toContain('keras was found and has no module keras.src.engine');
  });

  it('of an address in use does not say that a host could not be reached', () => {
    expect(causeOf(['OSError: [Errno 98] Address already in use']).message).toContain(
      'A port that the program opens is',
    );
  });

  it('begins with what was found in the package, if data is missing or is downloaded instead', () => {
    const warnings = [{ code: 'PATH_FROM_SCRIPT', message: 'wgan.py names "../data".', remedy: 'Add "workdir: gan".' }];
    const lines = ['urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>'];
    expect(remedyOf(lines, { warnings })).toMatch(
      /^wgan\.py names "\.\.\/data"\. Add "workdir: gan"\. If that is not it: /,
    );
    expect(remedyOf(['KeyError: 1'], { warnings })).not.toContain('workdir');
  });

  it('names the permission, not the host that was asked', () => {
    const denied =
      'google.api_core.exceptions.Forbidden: 403 GET https://storage.googleapis.com/storage/v1/b/data/o/train.csv: a@p.iam.gserviceaccount.com does not have storage.objects.get access';
    expect(remedyOf([denied])).toMatch(/^Grant a@p\.iam\.gserviceaccount\.com a role with storage\.objects\.get /);
  });

  it('is to request a GPU if the job has none, whichever build of the framework is installed', () => {
    const machine = { machineType: 'n1-standard-4', accelerator: null };
    expect(causeOf(['AssertionError: Torch not compiled with CUDA enabled'], { machine })).toMatchObject({
      message: expect.stringContaining('The program asked for a GPU'),
      diagnosis: {
        label: 'no_gpu_visible',
        remedy: expect.stringContaining('n1-standard-4 was requested without a GPU'),
      },
    });
  });

  it('quotes the exception of a program whose name does not say that it is one', () => {
    const lines = ['Traceback (most recent call last):', '  File "t.py", line 4, in <module>', 'trainer.BadPlan: lr'];
    expect(causeOf(lines).diagnosis?.line).toBe('trainer.BadPlan: lr');
  });

  const ENOSPC = ['OSError: [Errno 28] No space left on device'];

  it('for a full disk is twice the size', () => {
    expect(remedyOf(ENOSPC, { bootDiskGib: 100 })).toContain('The boot disk has 100 GB: request 200 GB');
    const usage = { ...NO_USAGE, diskBytes: 94 * 2 ** 30, diskBytesMax: 95 * 2 ** 30 };
    expect(remedyOf(ENOSPC, { bootDiskGib: 100, usage })).toContain('request 200 GB');
  });

  it('does not enlarge a disk of which most was free, or whose limit is a setting', () => {
    const usage = { ...NO_USAGE, diskBytes: 3 * 2 ** 30, diskBytesMax: 95 * 2 ** 30 };
    expect(remedyOf(ENOSPC, { bootDiskGib: 100, usage })).toMatch(/^The last measurement was 3\.0 GiB of 95\.0 GiB\. /);
    const limited = { ...NO_USAGE, diskBytes: 10 * 2 ** 30, diskBytesMax: 10 * 2 ** 30 };
    expect(remedyOf(ENOSPC, { bootDiskGib: 100, usage: limited })).toContain('raise diskBytesMax');
  });

  it('for a disk limit is that of the message of the agent, which measured it', () => {
    const message =
      '11 bytes are on the work disk; the limit is 10. Raise diskBytesMax; a larger boot disk changes nothing.';
    const report = { reason: 'DISK_FULL', exitCode: null, signal: 15, message, evidence: ['step 3'] } as const;
    expect(classifyExit(report, { ...factsOf('digits'), bootDiskGib: 100 })).toMatchObject({
      cause: { code: 'DISK_FULL', diagnosis: { label: 'disk_full', remedy: LABELS.disk_full.remedy } },
    });
  });

  it('has the memory of the machine and the next larger one', () => {
    const usage = { ...NO_USAGE, memoryBytes: 29 * 2 ** 30, memoryBytesMax: 30 * 2 ** 30 };
    const remedy = remedyOf(['MemoryError'], { machine: T4, usage, moreMemory: ['n1-highmem-8 (52 GiB)'] });
    expect(remedy).toContain(
      'n1-standard-8 has 30.0 GiB (the last measurement was 29.0 GiB): choose n1-highmem-8 (52 GiB)',
    );
  });

  it('has a tenth of the learning rate', () => {
    expect(remedyOf(['Loss is nan, stopping training'], { args: ['--lr=0.01'] })).toContain('from 0.01 to 0.001');
  });

  it('has the unique identifier of VPC Service Controls', () => {
    const line = "403 Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: AbCd_ef-12";
    expect(remedyOf([line])).toContain('unique identifier AbCd_ef-12');
  });

  it('has the account and the permission that are missing', () => {
    const line = 'svc@p.iam.gserviceaccount.com does not have storage.objects.get access to the bucket.';
    expect(remedyOf([line])).toContain('Grant svc@p.iam.gserviceaccount.com a role with storage.objects.get');
  });

  it('says for a machine without a GPU that the job file has none', () => {
    const machine = { machineType: 'n1-standard-8', accelerator: null };
    expect(remedyOf(['RuntimeError: No CUDA GPUs are available'], { machine })).toContain('without a GPU');
  });

  it('is that of a NaN loss if the health of the program was that, and nothing else explains its exception', () => {
    const finding = {
      code: 'NON_FINITE',
      message: 'loss was NaN.',
      remedy: '',
      evidence: ['loss: nan'],
      since: 1,
      until: null,
    } as const;
    const lines = ['Traceback (most recent call last):', 'RuntimeError: could not converge'];
    expect(causeOf(lines, { health: [finding] }).diagnosis?.label).toBe('nan_loss');
    expect(causeOf(lines).diagnosis?.label).toBe('user_exception');
    expect(causeOf([OOM], { health: [finding] }).diagnosis?.label).toBe('gpu_oom');
  });
});

describe('whether a retry can help', () => {
  it.each([
    ["KeyError: 'lr'", false],
    ['RuntimeError: the queue was empty', true],
    ["ModuleNotFoundError: No module named 'torch'", false],
    ['ncclSystemError: System call (socket, malloc, munmap, etc) failed', true],
    ['requests.exceptions.ConnectionError: Connection refused', true],
    ['RuntimeError: CUDA error: uncorrectable ECC error encountered', true],
    ['ValueError: Shapes (None, 4) and (None, 10) are incompatible', false],
  ])('follows from %s', (line, canRetryHelp) => {
    expect(causeOf([line]).diagnosis?.canRetryHelp).toBe(canRetryHelp);
  });

  it('is unknown without a diagnosis', () => {
    expect(causeOf(['bye']).diagnosis).toBeUndefined();
  });

  it('makes a hardware fault of the GPU an interruption, whatever signal ended the program', () => {
    const evidence = ['kernel: NVRM: Xid (PCI:0000:00:04): 79, pid=1, GPU has fallen off the bus.'];
    const report = { reason: 'EXITED', exitCode: null, signal: 6, message: 'It was killed.', evidence } as const;
    expect(classifyExit(report, factsOf('digits'))).toMatchObject({ cause: { code: 'GPU_FAILED' } });
  });
});

describe('findBatchSize', () => {
  it.each([
    [['--batch-size', '256'], 256],
    [['--batch_size=128'], 128],
    [['per_device_train_batch_size=16'], 16],
    [['--train-batch-size', '8', '--eval-batch-size', '4'], 8],
    [['--batch-size', 'auto'], undefined],
    [['--batch-size'], undefined],
    [['--batch-size=0'], undefined],
    [['--eval-batch-size=4'], undefined],
  ])('reads %j', (args, size) => {
    expect(findBatchSize(args)?.size).toBe(size);
  });
});
