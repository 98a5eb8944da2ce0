import { findTarget } from '#cli/cloud/find-target.ts';
import type { Command } from '#cli/command.ts';
import { NotFound } from '#cli/failure.ts';
import { createApiClient } from '#cli/jobs/api-client.ts';
import { describeJob } from '#cli/jobs/describe-job.ts';
import { GCLOUD_JOB_FLAGS, judgeJobFlags } from '#cli/jobs/job-flags.ts';
import { parseGsUri } from '#cli/objects/gs-uri.ts';
import { createObjectClient } from '#cli/objects/object-client.ts';
import { describeReport } from '#cli/submission/describe-report.ts';
import { readReport, readVerdict } from '#cli/submission/submission.ts';
import type { JobView } from '#shared/protocol/report.ts';

export const jobsDescribe: Command = {
  operands: [{ name: 'JOB', summary: 'the job id', count: 'one' }],
  flags: GCLOUD_JOB_FLAGS,
  async run(invocation) {
    const { io, operands, print } = invocation;
    const target = await findTarget(invocation);
    judgeJobFlags(invocation, target);
    const objects = createObjectClient(target);
    const [jobId = ''] = operands;
    let job: JobView;
    try {
      job = await createApiClient(target.api, io.interrupted).getJob(jobId);
    } catch (error) {
      const refused = error instanceof NotFound ? await readVerdict(objects, target.uploadBucket, jobId) : undefined;
      if (refused === undefined) {
        throw error;
      }
      print({ json: refused, text: describeReport(refused, io.stdout) });
      return 1;
    }
    // What intake had to say about the submission is in its report; a user may have deleted that.
    const report = await readReport(objects, parseGsUri(job.report));
    const warnings = report?.warnings ?? [];
    print({
      json: { ...job, warnings },
      text: describeJob(job, { warnings, nowMs: Date.now(), output: io.stdout }),
    });
    return 0;
  },
};
