import { createDescribeCommand } from '#cli/commands/jobs-describe.ts';
import { createListCommand } from '#cli/commands/jobs-list.ts';
import type { Command } from '#cli/core/command.ts';
import { Failure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import { isTuningJob } from '#cli/render/describe-tuning.ts';
import { toVertexTuningJob } from '#cli/render/vertex-tuning-job.ts';
import { submit } from '#cli/submit/submit.ts';
import { TUNING_JOB_FLAGS } from '#cli/submit/submit-flags.ts';
import { readTuningRequest } from '#cli/submit/tuning-request.ts';

export const hpTuningJobsCreate: Command = {
  operands: [],
  example: '--display-name digits_search --config tuning.yaml --max-trial-count 20',
  flags: TUNING_JOB_FLAGS,
  notes: 'Flags are those of `gcloud ai hp-tuning-jobs create` and override the --config file.',
  run: (invocation) => submit(invocation, readTuningRequest(invocation)),
};

export const hpTuningJobsList: Command = createListCommand({
  isListed: isTuningJob,
  toJson: (job) => (isTuningJob(job) ? toVertexTuningJob(job) : job),
});

export const hpTuningJobsDescribe: Command = createDescribeCommand({
  notes: 'With --format=json, the tuning is a HyperparameterTuningJob of Vertex AI, with its best trial first.',
  check: (job) => {
    if (!isTuningJob(job)) {
      throw new Failure(`Job ${job.jobId} is not a tuning job: see \`${programName()} jobs describe ${job.jobId}\`.`);
    }
  },
  toJson: (job, trials) => (isTuningJob(job) ? toVertexTuningJob(job, trials) : job),
});
