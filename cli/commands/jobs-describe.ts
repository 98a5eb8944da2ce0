import { readGsUri } from '#cli/client/gs-uri.ts';
import { createObjectClient } from '#cli/client/object-client.ts';
import { openApi } from '#cli/client/open-api.ts';
import { listTrials } from '#cli/client/trials.ts';
import type { Command } from '#cli/core/command.ts';
import { NotFound, unlessNotFound } from '#cli/core/failure.ts';
import { GCLOUD_JOB_FLAGS } from '#cli/core/gcloud-flags.ts';
import { describeHistory } from '#cli/render/describe-history.ts';
import { describeJob } from '#cli/render/describe-job.ts';
import { describeReport } from '#cli/render/describe-report.ts';
import { isTuningJob } from '#cli/render/describe-tuning.ts';
import { joinSections } from '#cli/render/format.ts';
import { sortBestFirst } from '#cli/render/sort-trials.ts';
import { toTrainingOutput } from '#cli/render/training-output.ts';
import { readReport, readVerdict } from '#cli/submit/upload-job.ts';
import type { HistoryEntry } from '#shared/domain/history-entry.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { TrialView } from '#shared/protocol/tuning-view.ts';

const TOP_TRIALS_COUNT = 5;

type DescribeOptions = {
  readonly notes?: string;
  /** Throws Failure for a job that the command is not for. */
  readonly check?: (job: JobView) => void;
  /** The job, with its history and the warnings of intake, and the trials of a tuning in the form that is printed as JSON. */
  readonly toJson: (
    job: JobView & { readonly history: readonly HistoryEntry[] },
    trials: readonly TrialView[],
  ) => unknown;
};

export const jobsDescribe = createDescribeCommand({
  toJson: (job, trials) => (isTuningJob(job) ? { ...job, trainingOutput: toTrainingOutput(job, trials) } : job),
});

/** A command that describes one job, or why its upload was rejected. */
export function createDescribeCommand({ notes, check, toJson }: DescribeOptions): Command {
  return {
    operands: [{ name: 'JOB', summary: 'the job id', count: 'one' }],
    flags: GCLOUD_JOB_FLAGS,
    ...(notes !== undefined && { notes }),
    async run(invocation) {
      const { io, operands, print } = invocation;
      const { target, api } = await openApi(invocation);
      const objects = createObjectClient(target);
      const [jobId = ''] = operands;
      let job: JobView;
      try {
        job = await api.getJob(jobId);
      } catch (error) {
        const verdict = error instanceof NotFound ? await readVerdict(objects, target.uploadBucket, jobId) : undefined;
        if (verdict === undefined) {
          throw error;
        }
        print({ json: verdict, text: describeReport(verdict, io.stdout) });
        return 1;
      }
      check?.(job);
      // A deployment of v0.1.0 keeps no history.
      const history = (await unlessNotFound(api.getHistory(jobId))) ?? [];
      const trials = isTuningJob(job) ? await listTrials(api, jobId) : [];
      // Intake's warnings are in the report, which the user may have deleted.
      const report = await readReport(objects, readGsUri(job.report));
      const warnings = report?.warnings ?? [];
      const top = isTuningJob(job) ? sortBestFirst(trials, job.tuning).slice(0, TOP_TRIALS_COUNT) : [];
      const options = { warnings, top, nowMs: Date.now(), output: io.stdout, pageUrl: target.pageUrl };
      print({
        json: toJson({ ...job, history, warnings: [...warnings, ...job.warnings] }, trials),
        text: joinSections([[describeJob(job, options)], describeHistory(history)]),
      });
      return 0;
    },
  };
}
