import { createApiClient } from '#cli/client/api-client.ts';
import { findTarget } from '#cli/client/find-target.ts';
import { readGsUri } from '#cli/client/gs-uri.ts';
import { createObjectClient } from '#cli/client/object-client.ts';
import type { Command } from '#cli/core/command.ts';
import { NotFound } from '#cli/core/failure.ts';
import { checkJobFlags, GCLOUD_JOB_FLAGS } from '#cli/core/gcloud-flags.ts';
import { describeJob } from '#cli/render/describe-job.ts';
import { describeReport } from '#cli/render/describe-report.ts';
import { readReport, readVerdict } from '#cli/submit/upload-job.ts';
import type { JobView } from '#shared/protocol/report.ts';

export const jobsDescribe: Command = {
  operands: [{ name: 'JOB', summary: 'the job id', count: 'one' }],
  flags: GCLOUD_JOB_FLAGS,
  async run(invocation) {
    const { io, operands, print } = invocation;
    const target = await findTarget(invocation);
    checkJobFlags(invocation, target);
    const objects = createObjectClient(target);
    const [jobId = ''] = operands;
    let job: JobView;
    try {
      job = await createApiClient(target.api, io.interrupted).getJob(jobId);
    } catch (error) {
      const rejection = error instanceof NotFound ? await readVerdict(objects, target.uploadBucket, jobId) : undefined;
      if (rejection === undefined) {
        throw error;
      }
      print({ json: rejection, text: describeReport(rejection, io.stdout) });
      return 1;
    }
    // Intake's warnings are in the report, which the user may have deleted.
    const report = await readReport(objects, readGsUri(job.report));
    const warnings = report?.warnings ?? [];
    print({
      json: { ...job, warnings: [...warnings, ...job.warnings] },
      text: describeJob(job, { warnings, nowMs: Date.now(), output: io.stdout }),
    });
    return 0;
  },
};
