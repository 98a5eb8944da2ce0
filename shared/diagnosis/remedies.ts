import { detectFramework, type Framework } from '#shared/diagnosis/framework.ts';
import { type BatchSize, findBatchSize, type JobFacts } from '#shared/diagnosis/job-facts.ts';
import { LABELS, type Label } from '#shared/diagnosis/rules/labels.ts';
import { NO_USAGE } from '#shared/domain/replica.ts';

/** The facts from which a remedy is written. */
export type RemedyInput = { readonly lines: readonly string[]; readonly facts: JobFacts };

const ALTERNATIVES_SHOWN_MAX = 2;

/** The remedies with numbers; each has the label's own remedy where nothing is known. */
const WITH_NUMBERS: Partial<Readonly<Record<Label, (input: RemedyInput) => string>>> = {
  gpu_oom: remedyForGpuMemory,
  host_oom: remedyForMemory,
  nan_loss: remedyForNan,
  no_gpu_visible: remedyForNoGpu,
  disk_full: remedyForDisk,
  vpc_sc_violation: remedyForPerimeter,
  permission_denied: remedyForPermission,
};

/** Says what to do about a failure with this label, for the framework and with the numbers of this job. */
export function writeRemedy(label: Label, input: RemedyInput): string {
  return WITH_NUMBERS[label]?.(input) ?? LABELS[label].remedy;
}

function remedyForGpuMemory({ lines, facts }: RemedyInput): string {
  const text = lines.join('\n');
  const options = [
    reduceBatch(findBatchSize(facts.args) ?? findPrintedBatchSize(text), detectFramework(text)),
    ...(facts.moreGpuMemory.length === 0
      ? ['or a GPU with more memory']
      : [`or ${facts.moreGpuMemory.slice(0, ALTERNATIVES_SHOWN_MAX).join(', or ')}`]),
  ];
  return [describeGpuMemory(text, facts), `${options.join(', ')}.`, ...describeFragmentation(text)]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

/** Accumulating over twice as many steps keeps the effective batch, and so the learning rate. */
function reduceBatch(batch: BatchSize | undefined, framework: Framework | null): string {
  if (framework === 'xgboost' || framework === 'lightgbm') {
    return 'Train on a part of the data at once (QuantileDMatrix or external memory), with a smaller max_bin or max_depth, or use';
  }
  const accumulation = ACCUMULATION[framework ?? 'pytorch'] ?? 'gradient accumulation';
  const precision = PRECISION[framework ?? 'pytorch'] ?? 'mixed precision';
  if (batch === undefined || batch.size < 2) {
    return `Halve the batch size with ${accumulation} over 2 steps, or use ${precision}`;
  }
  const half = Math.floor(batch.size / 2);
  return `Reduce ${batch.name} ${batch.size} to ${half}, with ${accumulation} (2 steps of ${half}) for the same effective batch, or use ${precision}`;
}

const ACCUMULATION: Partial<Readonly<Record<Framework, string>>> = {
  deepspeed: 'gradient_accumulation_steps in the DeepSpeed configuration',
  lightning: 'Trainer(accumulate_grad_batches=2)',
  transformers: 'gradient_accumulation_steps=2',
  pytorch: 'gradient accumulation',
  keras: 'gradient_accumulation_steps=2 of the optimizer (Keras 3)',
  jax: 'optax.MultiSteps',
};

const PRECISION: Partial<Readonly<Record<Framework, string>>> = {
  deepspeed: 'ZeRO stage 3',
  lightning: 'Trainer(precision="bf16-mixed")',
  transformers: 'bf16=True and gradient_checkpointing=True',
  pytorch: 'torch.autocast and activation checkpointing',
  keras: 'keras.mixed_precision.set_global_policy("mixed_bfloat16")',
  tensorflow: 'tf.keras.mixed_precision',
  jax: 'bfloat16 and jax.checkpoint',
};

/** Reads the batch size of a Namespace or a configuration that the program printed. */
function findPrintedBatchSize(text: string): BatchSize | undefined {
  const found = /\b((?:per_device_)?(?:train_)?batch_?size)['"]?\s?[=:]\s?(\d{1,6})\b/i.exec(text);
  return found?.[1] === undefined ? undefined : { name: found[1], size: Number(found[2]) };
}

function describeGpuMemory(text: string, { usage, machine }: JobFacts): string {
  const asked =
    /Tried to allocate ([\d.]+ [KMG]i?B)/i.exec(text)?.[1] ?? inGib(/allocate (\d{6,15}) bytes/.exec(text)?.[1]);
  const total = /([\d.]+ [KMG]i?B) total capacity|total capac?i?ty of ([\d.]+ [KMG]i?B)/i.exec(text);
  const measured = usage?.gpus[0]?.memoryBytesMax;
  const size = total?.[1] ?? total?.[2] ?? (measured === undefined ? null : formatGib(measured));
  const gpu = machine?.accelerator === undefined || machine.accelerator === null ? 'The GPU' : machine.accelerator.type;
  if (size === null) {
    return asked === null ? '' : `An allocation of ${asked} did not fit.`;
  }
  return asked === null ? `${gpu} has ${size}.` : `${gpu} has ${size}, and ${asked} more did not fit.`;
}

/** The allocator holds more memory than tensors use. */
function describeFragmentation(text: string): readonly string[] {
  return /reserved memory is >> allocated|reserved but unallocated memory is large/i.test(text)
    ? ['If much memory is reserved but not allocated, set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.']
    : [];
}

function remedyForMemory({ facts }: RemedyInput): string {
  const { usage, machine, moreMemory } = facts;
  const bytesMax = usage?.memoryBytesMax ?? null;
  if (machine === null || bytesMax === null) {
    return LABELS.host_oom.remedy;
  }
  const used = usage?.memoryBytes ?? null;
  const measured = used === null ? '' : ` (the last measurement was ${formatGib(used)})`;
  const larger = moreMemory.length === 0 ? 'a machine type with more memory' : moreMemory[0];
  return `${machine.machineType} has ${formatGib(bytesMax)}${measured}: choose ${larger}, load the data in parts instead of at once, or use fewer loader workers.`;
}

/** A disk of which much was free was not what the program filled, and one with a smaller limit is not the boot disk. */
function remedyForDisk({ facts: { bootDiskGib, usage } }: RemedyInput): string {
  const { diskBytes, diskBytesMax } = usage ?? NO_USAGE;
  if (diskBytes !== null && diskBytesMax !== null && diskBytes < 0.8 * diskBytesMax) {
    return `The last measurement was ${formatGib(diskBytes)} of ${formatGib(diskBytesMax)}. Unless the program wrote the rest at once, something else is full: /dev/shm (use fewer loader workers), a quota, or in the embedded cloud the disk of the machine.`;
  }
  const isBootDisk = bootDiskGib !== null && (diskBytesMax ?? Infinity) > 0.9 * bootDiskGib * 2 ** 30;
  return isBootDisk
    ? `The boot disk has ${bootDiskGib} GB: request ${2 * bootDiskGib} GB (bootDiskSizeGb), keep fewer checkpoints, or download less.`
    : LABELS.disk_full.remedy;
}

function remedyForNan({ facts }: RemedyInput): string {
  const rate = facts.args.findIndex((arg) => /^--?(?:lr|learning[-_]rate)(?:=|$)/i.test(arg));
  const text = facts.args[rate]?.split('=')[1] ?? facts.args[rate + 1];
  const value = Number(text);
  return rate === -1 || !(value > 0)
    ? LABELS.nan_loss.remedy
    : `Lower the learning rate from ${value} to ${value / 10}, or warm it up, and clip gradients (norm 1.0). Then check the data for NaN and zero divisors, and prefer bfloat16 or a loss scaler to plain float16.`;
}

function remedyForNoGpu({ facts }: RemedyInput): string {
  const { machine } = facts;
  if (machine === null) {
    return LABELS.no_gpu_visible.remedy;
  }
  return machine.accelerator === null
    ? `${machine.machineType} was requested without a GPU: add one to the job file (acceleratorConfig), or let the program run on the CPU.`
    : `The VM has ${machine.accelerator.count} x ${machine.accelerator.type}, as devices 0 to ${machine.accelerator.count - 1}: use these numbers, and check CUDA_VISIBLE_DEVICES and that the framework is its GPU build.`;
}

function remedyForPerimeter({ lines }: RemedyInput): string {
  const found = /vpcServiceControlsUniqueIdentifier:? "?([\w-]{6,200})/.exec(lines.join('\n'));
  return found?.[1] === undefined
    ? LABELS.vpc_sc_violation.remedy
    : `Give the unique identifier ${found[1]} to the administrator of the perimeter, who finds the violation with it (gcloud logging read 'protoPayload.metadata.vpcServiceControlsUniqueId="${found[1]}"') and adds an ingress or egress rule.`;
}

function remedyForPermission({ lines }: RemedyInput): string {
  const text = lines.join('\n');
  const permission =
    /\b((?:storage|bigquery|aiplatform|compute|secretmanager|pubsub|logging|artifactregistry|ml)\.(?!googleapis)\w+\.\w+)\b/.exec(
      text,
    )?.[1];
  const account = /\b([\w.-]{1,80}@[\w.-]{1,80}\.gserviceaccount\.com)\b/.exec(text)?.[1];
  return permission === undefined
    ? LABELS.permission_denied.remedy
    : `Grant ${account ?? 'the service account of the job'} a role with ${permission} on the resource in the message, or set serviceAccount in the job file to an account that has it.`;
}

function inGib(bytes: string | undefined): string | null {
  return bytes === undefined ? null : formatGib(Number(bytes));
}

function formatGib(bytes: number): string {
  const gib = bytes / 2 ** 30;
  return gib >= 0.1 ? `${gib.toFixed(1)} GiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
