import type { Problem } from '#shared/protocol/report.ts';
import type { Located } from '#shared/spec/findings.ts';

export type Dialect = 'ai-platform';

/**
 * A job as it is written, before anything in it is judged: what every dialect is read into, each value with its place,
 * so that whatever is wrong with it can be shown where it stands. Undefined is what was not said.
 */
export type JobDraft = {
  readonly dialect: Dialect;
  /** What is wrong with its form already; a draft with problems never becomes a job. */
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  readonly jobId: Located<string> | undefined;
  readonly labels: readonly Located<Label>[];
  readonly scaleTier: Located<string> | undefined;
  readonly masterType: Located<string> | undefined;
  readonly masterAccelerator: AcceleratorDraft;
  readonly bootDiskGib: Located<number> | undefined;
  readonly bootDiskType: Located<string> | undefined;
  /** Addresses, or paths beside the job file. */
  readonly packageUris: readonly Located<string>[] | undefined;
  readonly pythonModule: Located<string> | undefined;
  readonly args: readonly Located<string>[] | undefined;
  readonly region: Located<string> | undefined;
  readonly jobDir: Located<string> | undefined;
  readonly runtimeVersion: Located<string> | undefined;
  readonly pythonVersion: Located<string> | undefined;
  /** Durations as the API writes them: `3600s`. */
  readonly maxRunningTime: Located<string> | undefined;
  readonly maxWaitTime: Located<string> | undefined;
  readonly strategy: Located<string> | undefined;
};

export type Label = { readonly key: string; readonly text: string };

export type AcceleratorDraft = {
  readonly type: Located<string> | undefined;
  readonly count: Located<number> | undefined;
};

/** A job about which nothing was said: where a submission without a job file begins. */
export const EMPTY_DRAFT: JobDraft = {
  dialect: 'ai-platform',
  problems: [],
  warnings: [],
  jobId: undefined,
  labels: [],
  scaleTier: undefined,
  masterType: undefined,
  masterAccelerator: { type: undefined, count: undefined },
  bootDiskGib: undefined,
  bootDiskType: undefined,
  packageUris: undefined,
  pythonModule: undefined,
  args: undefined,
  region: undefined,
  jobDir: undefined,
  runtimeVersion: undefined,
  pythonVersion: undefined,
  maxRunningTime: undefined,
  maxWaitTime: undefined,
  strategy: undefined,
};
