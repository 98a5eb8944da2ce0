import { createApiClient } from '#cli/client/api-client.ts';
import { findTarget } from '#cli/client/find-target.ts';
import { listTrials } from '#cli/client/trials.ts';
import { describeJobTo } from '#cli/commands/jobs-describe.ts';
import { createListCommand } from '#cli/commands/jobs-list.ts';
import type { Command } from '#cli/core/command.ts';
import { Failure } from '#cli/core/failure.ts';
import { checkJobFlags, GCLOUD_JOB_FLAGS } from '#cli/core/gcloud-flags.ts';
import { programName } from '#cli/core/program-name.ts';
import { isTuningJob } from '#cli/render/describe-tuning.ts';
import { toVertexTuningJob } from '#cli/render/vertex-tuning-job.ts';
import { submit } from '#cli/submit/submit.ts';
import { TUNING_JOB_FLAGS } from '#cli/submit/submit-flags.ts';
import { readTuningRequest } from '#cli/submit/tuning-request.ts';

export const hpTuningJobsCreate: Command = {
  operands: [],
  flags: TUNING_JOB_FLAGS,
  notes: 'Flags are those of `gcloud ai hp-tuning-jobs create` and override the --config file.',
  run: async (invocation) => submit(invocation, await readTuningRequest(invocation)),
};

export const hpTuningJobsList: Command = createListCommand({
  isListed: isTuningJob,
  toJson: (job) => (isTuningJob(job) ? toVertexTuningJob(job) : job),
});

export const hpTuningJobsDescribe: Command = {
  operands: [{ name: 'JOB', summary: 'the id of the tuning job', count: 'one' }],
  flags: GCLOUD_JOB_FLAGS,
  notes: 'With --format=json, the tuning is a HyperparameterTuningJob of Vertex AI, with its best trial first.',
  async run(invocation) {
    const { io, operands } = invocation;
    const target = await findTarget(invocation);
    checkJobFlags(invocation, target);
    const [jobId = ''] = operands;
    const api = createApiClient(target.api, io.interrupted);
    const job = await api.getJob(jobId);
    if (!isTuningJob(job)) {
      throw new Failure(`Job ${jobId} is not a tuning job: see \`${programName()} jobs describe ${jobId}\`.`);
    }
    const trials = await listTrials(api, jobId);
    return describeJobTo(invocation, { target, job, trials, toJson: () => toVertexTuningJob(job, trials) });
  },
};
