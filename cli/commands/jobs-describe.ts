import { findCloud } from '#cli/cloud/find-cloud.ts';
import type { Command } from '#cli/command.ts';
import { createApiClient } from '#cli/jobs/api-client.ts';
import { describeJob } from '#cli/jobs/describe-job.ts';
import { parseGsUri } from '#cli/objects/gs-uri.ts';
import { createObjectClient } from '#cli/objects/object-client.ts';
import { readReport } from '#cli/submission/submission.ts';

export const jobsDescribe: Command = {
  operands: [{ name: 'JOB', summary: 'the job id', count: 'one' }],
  flags: [],
  async run(invocation) {
    const { io, operands, print } = invocation;
    const endpoints = await findCloud(invocation);
    const job = await createApiClient(endpoints.api, io.interrupted).getJob(operands[0] ?? '');
    // What intake had to say about the submission is in its report; a user may have deleted that.
    const report = await readReport(createObjectClient(endpoints), parseGsUri(job.report));
    const warnings = report?.warnings ?? [];
    print({
      json: { ...job, warnings },
      text: describeJob(job, { warnings, nowMs: Date.now(), output: io.stdout }),
    });
    return 0;
  },
};
