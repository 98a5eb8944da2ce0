import type { Located } from '#shared/spec/findings.ts';
import type { JobDraft } from '#shared/spec/job-draft.ts';

/** What flags say about a job, in the spelling of `gcloud ai-platform jobs submit training`. */
export type TrainingOverrides = {
  readonly jobId?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** `custom` or `CUSTOM`, `basic-gpu` or `BASIC_GPU`. */
  readonly scaleTier?: string;
  readonly masterType?: string;
  /** The type in either spelling: `nvidia-tesla-t4` or `NVIDIA_TESLA_T4`. */
  readonly masterAccelerator?: { readonly type: string; readonly count: number };
  readonly packageUris?: readonly string[];
  readonly pythonModule?: string;
  readonly args?: readonly string[];
  readonly region?: string;
  readonly jobDir?: string;
  readonly runtimeVersion?: string;
  readonly pythonVersion?: string;
};

/**
 * Lets flags beat the file, each as a whole: lists and labels are replaced, not joined, as gcloud does. What is wrong
 * with such a value is shown at its flag.
 */
export function applyOverrides(draft: JobDraft, overrides: TrainingOverrides): JobDraft {
  const { labels, scaleTier, masterAccelerator } = overrides;
  return {
    ...draft,
    jobId: from('JOB', overrides.jobId) ?? draft.jobId,
    labels:
      labels === undefined
        ? draft.labels
        : Object.entries(labels).map(([key, text]) => ({ value: { key, text }, path: '--labels' })),
    scaleTier: from('--scale-tier', scaleTier?.toUpperCase().replaceAll('-', '_')) ?? draft.scaleTier,
    masterType: from('--master-machine-type', overrides.masterType) ?? draft.masterType,
    masterAccelerator:
      masterAccelerator === undefined
        ? draft.masterAccelerator
        : {
            type: from('--master-accelerator', masterAccelerator.type),
            count: from('--master-accelerator', masterAccelerator.count),
          },
    packageUris: fromEach('--packages', overrides.packageUris) ?? draft.packageUris,
    pythonModule: from('--module-name', overrides.pythonModule) ?? draft.pythonModule,
    args: fromEach('-- ARGS', overrides.args) ?? draft.args,
    region: from('--region', overrides.region) ?? draft.region,
    jobDir: from('--job-dir', overrides.jobDir) ?? draft.jobDir,
    runtimeVersion: from('--runtime-version', overrides.runtimeVersion) ?? draft.runtimeVersion,
    pythonVersion: from('--python-version', overrides.pythonVersion) ?? draft.pythonVersion,
  };
}

function from<T>(flag: string, value: T | undefined): Located<T> | undefined {
  return value === undefined ? undefined : { value, path: flag };
}

function fromEach(flag: string, values: readonly string[] | undefined): readonly Located<string>[] | undefined {
  return values?.map((value) => ({ value, path: flag }));
}
