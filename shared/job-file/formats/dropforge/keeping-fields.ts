import { KEEP_ON_FAILURE_MS_MAX } from '#shared/job-file/draft/duration.ts';
import type { JobField } from '#shared/job-file/fields/field.ts';
import { inJob } from '#shared/job-file/fields/targets.ts';
import { duration } from '#shared/job-file/formats/dropforge/durations.ts';

/** The row of `keepOnFailure` in the table of fields. */
export const KEEP_ON_FAILURE: JobField = {
  ...inJob('keepOnFailure', duration(KEEP_ON_FAILURE_MS_MAX)),
  description:
    'How long the VM of a program that has failed is kept for a look (docs/shell.md), at most as long as the deployment allows. It is billed meanwhile. `0s` keeps none.',
  omitted: 'the VM is deleted at once',
  examples: ['30m'],
  synonyms: ['keepVmOnFailure', 'keepFailedVm'],
  goesTo: { spec: 'limits.keepOnFailureMs', vm: 'config.limits.keepOnFailureSeconds' },
};
