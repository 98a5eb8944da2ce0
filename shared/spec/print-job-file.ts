import { stringify } from 'yaml';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { toTrainingInput } from '#shared/spec/training-input-dictionary.ts';

/** Prints a job as a job file in YAML; reading and checking it gives the same job again, whatever the defaults are there. */
export function printJobFile(spec: JobSpec): string {
  const hasLabels = Object.keys(spec.labels).length > 0;
  const job = { jobId: spec.jobId, ...(hasLabels && { labels: spec.labels }), trainingInput: toTrainingInput(spec) };
  return stringify(job, { lineWidth: 0, aliasDuplicateObjects: false });
}
