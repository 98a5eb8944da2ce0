import { KEEP_ON_FAILURE_MS_MAX } from '#shared/job-file/draft/duration.ts';
import { field } from '#shared/job-file/fields/field.ts';
import { inJob } from '#shared/job-file/fields/slot.ts';
import { duration } from '#shared/job-file/formats/dropforge/durations.ts';

/** The row of `keepOnFailure` in the table of fields. */
export const KEEP_ON_FAILURE = field(inJob('keepOnFailure'), duration(KEEP_ON_FAILURE_MS_MAX), {
  description:
    'How long the VM of a program that has failed is kept for a look (docs/shell.md), at most as long as the deployment allows. It is billed meanwhile. `0s` keeps none.',
  omitted: 'the VM is deleted at once',
  examples: ['30m'],
  synonyms: ['keepVmOnFailure', 'keepFailedVm'],
  goesTo: { spec: 'limits.keepOnFailureMs', vm: 'config.limits.keepOnFailureSeconds' },
});
