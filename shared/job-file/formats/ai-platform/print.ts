import { type JobDraft, type KeyedText, masterOf, type PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { ROLE_PREFIXES } from '#shared/job-file/formats/ai-platform/fields.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';
import { parseNumber } from '#shared/job-file/parser/read-values.ts';
import type { ParameterDraft, StudyDraft } from '#shared/job-file/tuning/study-draft.ts';

/**
 * The draft as AI Platform's Job (`ml.googleapis.com` v1): what `readAiPlatformJob` reads as the same draft, but for
 * places. What is not said is not printed, and what AI Platform has no field for is left out. Labels are a Map, which
 * YAML prints as a mapping: an object would move names like `10` to the front.
 */
export function printAiPlatformJob(draft: JobDraft): Record<string, unknown> {
  const { jobId, labels } = draft;
  return withoutUnsaid({
    jobId: jobId?.value,
    labels: mapOf(labels),
    trainingInput: printTrainingInput(draft),
  });
}

function printTrainingInput(draft: JobDraft): Record<string, unknown> {
  const { program } = masterOf(draft);
  return withoutUnsaid({
    scaleTier: draft.scaleTier?.value,
    ...Object.assign({}, ...draft.pools.map(printPool)),
    packageUris: valuesOf(program.packageUris),
    pythonModule: program.pythonModule?.value,
    args: valuesOf(program.args),
    hyperparameters: draft.study && printStudy(draft.study),
    region: draft.region?.value,
    jobDir: draft.jobDir?.value,
    runtimeVersion: draft.runtimeVersion?.value,
    pythonVersion: draft.pythonVersion?.value,
    scheduling: unlessEmpty({
      maxRunningTime: draft.maxRunningTime?.value,
      maxWaitTime: draft.maxWaitTime?.value,
      strategy: draft.strategy?.value,
    }),
    serviceAccount: draft.serviceAccount?.value,
    network: draft.network?.value,
    encryptionConfig: unlessEmpty({ kmsKeyName: draft.kmsKeyName?.value }),
    dropforgeSecrets: mapOf(draft.secrets),
  });
}

function printPool({ role, count, machineType, accelerator, ...pool }: PoolDraft): Record<string, unknown> {
  const { bootDiskGib, bootDiskType, program } = pool;
  const prefix = ROLE_PREFIXES[role];
  const config = unlessEmpty({
    acceleratorConfig: unlessEmpty({ type: accelerator.type?.value, count: accelerator.count?.value }),
    diskConfig: unlessEmpty({ bootDiskSizeGb: bootDiskGib?.value, bootDiskType: bootDiskType?.value }),
    imageUri: program.imageUri?.value,
    containerCommand: valuesOf(program.command),
    containerArgs: valuesOf(program.containerArgs),
  });
  return {
    [`${prefix}Type`]: machineType?.value,
    ...(role !== 'master' && { [`${prefix}Count`]: count?.value }),
    [`${prefix}Config`]: config,
  };
}

/** Even a study of which nothing is said is not nothing: without its mapping the job would be a single training. */
function printStudy(study: StudyDraft): Record<string, unknown> {
  const [metric] = study.metrics;
  const spec = unlessEmpty({
    goal: metric?.goal?.value,
    hyperparameterMetricTag: metric?.id?.value,
    algorithm: study.algorithm?.value,
    maxTrials: study.maxTrials?.value,
    maxParallelTrials: study.parallelTrials?.value,
    maxFailedTrials: study.maxFailedTrials?.value,
    enableTrialEarlyStopping: study.earlyStopping && true,
    resumePreviousJobId: study.resumeJobId?.value,
    params: study.parameters?.map(printParameter),
  });
  return spec ?? { params: [] };
}

function printParameter({ id, kind, min, max, values, scale }: ParameterDraft): Record<string, unknown> {
  const isDiscrete = kind?.value === 'DISCRETE';
  return withoutUnsaid({
    parameterName: id?.value,
    type: kind?.value,
    minValue: min?.value,
    maxValue: max?.value,
    [isDiscrete ? 'discreteValues' : 'categoricalValues']: isDiscrete
      ? valuesOf(values)?.map(toNumber)
      : valuesOf(values),
    scaleType: scale?.value,
  });
}

/** A number where that is written the same; otherwise the text, which the API takes as well. */
function toNumber(text: string): number | string {
  const number = parseNumber(text);
  return number !== undefined && String(number) === text ? number : text;
}

function mapOf(list: readonly Located<KeyedText>[]): ReadonlyMap<string, string> | undefined {
  return list.length === 0 ? undefined : new Map(list.map(({ value }) => [value.key, value.text]));
}

function valuesOf(list: readonly Located<string>[] | undefined): readonly string[] | undefined {
  return list?.map(({ value }) => value);
}

function withoutUnsaid(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function unlessEmpty(fields: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const said = withoutUnsaid(fields);
  return Object.keys(said).length === 0 ? undefined : said;
}
