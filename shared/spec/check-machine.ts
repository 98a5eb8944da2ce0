import { type Gpus, readCatalog, toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import { type MachineChoice, type ResolvedMachine, resolveMachine } from '#shared/catalog/resolve-machine.ts';
import { describeRefusal, printGpus } from '#shared/spec/describe-refusal.ts';
import { type Findings, type Located, placeOf } from '#shared/spec/findings.ts';
import type { AcceleratorDraft, JobDraft } from '#shared/spec/job-draft.ts';

/** Tiers of AI Platform that stand for more than one machine, or for a TPU. */
const UNSUPPORTED_TIERS = ['STANDARD_1', 'PREMIUM_1', 'BASIC_TPU'];

const TIER_DEFAULT = 'BASIC';

/** AI Platform's name and those of Compute Engine's TPU VMs (ct5lp-hightpu-4t, tpu7x-standard-4t). */
const TPU_TYPE_PATTERN = /^(cloud[-_]tpu$|ct\d|tpu)/;

/** The machine that the job asks for; null where there is none such, which is then among the findings. */
export function checkMachine(draft: JobDraft, findings: Findings): ResolvedMachine | null {
  const choice = checkTier(draft, findings);
  if (choice === null) {
    return null;
  }
  const resolution = resolveMachine(choice);
  const place = draft.masterType ?? draft.scaleTier ?? { path: 'trainingInput.scaleTier' };
  if ('refusal' in resolution) {
    const isAboutGpu = !['UNKNOWN_MACHINE_TYPE', 'MACHINE_TYPE_TOO_LARGE'].includes(resolution.refusal.reason);
    const refused = (isAboutGpu ? draft.masterAccelerator.type : undefined) ?? place;
    const words = describeRefusal(resolution.refusal, draft.masterType?.value ?? '');
    findings.problems.push({ code: resolution.refusal.reason, ...words, ...placeOf(refused) });
    return null;
  }
  if (resolution.replaced !== null) {
    const { from, to } = resolution.replaced;
    const message = `${printGpus(from)} is no longer to be had; ${printGpus(to)} takes its place.`;
    const remedy = `Ask for ${toAcceleratorEnum(to.type)} by name: masterType ${resolution.machine.machineType} with masterConfig.acceleratorConfig.`;
    findings.warnings.push({
      code: 'ACCELERATOR_REPLACED',
      message,
      remedy,
      ...placeOf(draft.masterAccelerator.type ?? place),
    });
  }
  return resolution;
}

function checkTier(draft: JobDraft, findings: Findings): MachineChoice | null {
  const { scaleTier, masterType } = draft;
  const tier = scaleTier?.value ?? TIER_DEFAULT;
  const place = placeOf(scaleTier ?? { path: 'trainingInput.scaleTier' });
  if (tier === 'CUSTOM') {
    return masterType === undefined
      ? missingMasterType(place, findings)
      : chooseCustom(draft.masterAccelerator, masterType, findings);
  }
  if (UNSUPPORTED_TIERS.includes(tier)) {
    const message = `The scale tier ${tier} is not supported: a job runs on one machine, and there are no TPUs.`;
    const remedy = 'Write scaleTier: CUSTOM and a masterType that is large enough, with GPUs where they help.';
    findings.problems.push({ code: 'UNSUPPORTED_FIELD', message, remedy, ...place });
    return null;
  }
  const custom = masterType ?? draft.masterAccelerator.type ?? draft.masterAccelerator.count;
  if (custom !== undefined && isScaleTier(tier)) {
    const message = `${custom.path} needs the scale tier CUSTOM, but the tier is ${tier}${scaleTier === undefined ? ', as none is given' : ''}.`;
    findings.problems.push({
      code: 'TIER_NOT_CUSTOM',
      message,
      remedy: 'Write scaleTier: CUSTOM.',
      ...placeOf(custom),
    });
    return null;
  }
  if (scaleTier === undefined) {
    const message = `No scale tier is given: the job gets ${TIER_DEFAULT}, one machine without GPUs.`;
    findings.warnings.push({ code: 'DEFAULT_SCALE_TIER', message, remedy: 'Write scaleTier, to be sure.', ...place });
  }
  return { scaleTier: tier };
}

function missingMasterType(place: { readonly path: string }, findings: Findings): null {
  const remedy = 'Write masterType, such as n1-standard-8.';
  findings.problems.push({
    code: 'MASTER_TYPE_MISSING',
    message: 'The scale tier CUSTOM needs a masterType.',
    remedy,
    ...place,
  });
  return null;
}

function chooseCustom(
  { type, count }: AcceleratorDraft,
  masterType: Located<string>,
  findings: Findings,
): MachineChoice | null {
  const isTpuType = TPU_TYPE_PATTERN.test(masterType.value);
  if (isTpuType || type?.value.startsWith('TPU_')) {
    const message = 'TPUs are not supported: they are no Compute Engine VMs that a machine image could start.';
    const remedy = 'Choose a machine type with GPUs, such as g2-standard-8 or a2-highgpu-1g.';
    findings.problems.push({
      code: 'UNSUPPORTED_FIELD',
      message,
      remedy,
      ...placeOf(isTpuType ? masterType : (type ?? masterType)),
    });
    return null;
  }
  const accelerator = readAccelerator({ type, count }, findings);
  return accelerator === 'WRONG' ? null : { machineType: masterType.value, accelerator };
}

function readAccelerator({ type, count }: AcceleratorDraft, findings: Findings): Gpus | null | 'WRONG' {
  const isNone = type === undefined || type.value === 'ACCELERATOR_TYPE_UNSPECIFIED';
  if (isNone && (count === undefined || count.value === 0)) {
    return null;
  }
  if (isNone || count === undefined || count.value < 1) {
    const place: Located<unknown> | undefined = isNone ? count : (count ?? type);
    const message = isNone
      ? 'A count of GPUs is given, but not their type.'
      : 'A type of GPU is given, but not how many.';
    const remedy = 'Write both, as type: NVIDIA_TESLA_T4 and count: 1.';
    findings.problems.push({ code: 'INCOMPLETE_ACCELERATOR', message, remedy, ...(place && placeOf(place)) });
    return 'WRONG';
  }
  return { type: type.value, count: count.value };
}

function isScaleTier(name: string): boolean {
  return readCatalog().scaleTiers.some((tier) => tier.name === name);
}
