import { createApiClient } from '#cli/client/api-client.ts';
import { findTarget, type Target } from '#cli/client/find-target.ts';
import { readGsUri } from '#cli/client/gs-uri.ts';
import { createObjectClient } from '#cli/client/object-client.ts';
import { listTrials } from '#cli/client/trials.ts';
import type { Command, ExitCode, Invocation } from '#cli/core/command.ts';
import { NotFound } from '#cli/core/failure.ts';
import { checkJobFlags, GCLOUD_JOB_FLAGS } from '#cli/core/gcloud-flags.ts';
import { describeJob } from '#cli/render/describe-job.ts';
import { describeReport } from '#cli/render/describe-report.ts';
import { describeTuning, isTuningJob } from '#cli/render/describe-tuning.ts';
import { sortBestFirst } from '#cli/render/sort-trials.ts';
import { toTrainingOutput } from '#cli/render/training-output.ts';
import { readReport, readVerdict } from '#cli/submit/upload-job.ts';
import type { JobView, TrialView } from '#shared/protocol/report.ts';

const TOP_TRIALS_COUNT = 5;

export const jobsDescribe: Command = {
  operands: [{ name: 'JOB', summary: 'the job id', count: 'one' }],
  flags: GCLOUD_JOB_FLAGS,
  async run(invocation) {
    const { io, operands, print } = invocation;
    const target = await findTarget(invocation);
    checkJobFlags(invocation, target);
    const objects = createObjectClient(target);
    const [jobId = ''] = operands;
    const api = createApiClient(target.api, io.interrupted);
    let job: JobView;
    try {
      job = await api.getJob(jobId);
    } catch (error) {
      const rejection = error instanceof NotFound ? await readVerdict(objects, target.uploadBucket, jobId) : undefined;
      if (rejection === undefined) {
        throw error;
      }
      print({ json: rejection, text: describeReport(rejection, io.stdout) });
      return 1;
    }
    const trials = isTuningJob(job) ? await listTrials(api, jobId) : [];
    return describeJobTo(invocation, {
      ...{ target, job, trials },
      toJson: (warned) =>
        isTuningJob(warned) ? { ...warned, trainingOutput: toTrainingOutput(warned, trials) } : warned,
    });
  },
};

type Described = {
  readonly target: Target;
  readonly job: JobView;
  /** All trials of a tuning; empty for other jobs. */
  readonly trials: readonly TrialView[];
  /** The job, with the warnings of intake, in the form that is printed as JSON. */
  readonly toJson: (job: JobView) => unknown;
};

/** Prints a job with the warnings of intake, which are in the report that the user may have deleted. */
export async function describeJobTo(
  { io, print }: Invocation,
  { target, job, trials, toJson }: Described,
): Promise<ExitCode> {
  const report = await readReport(createObjectClient(target), readGsUri(job.report));
  const warnings = report?.warnings ?? [];
  const options = { warnings, nowMs: Date.now(), output: io.stdout };
  print({
    json: toJson({ ...job, warnings: [...warnings, ...job.warnings] }),
    text: isTuningJob(job)
      ? describeTuning(job, { ...options, top: sortBestFirst(trials, job.tuning).slice(0, TOP_TRIALS_COUNT) })
      : describeJob(job, options),
  });
  return 0;
}
