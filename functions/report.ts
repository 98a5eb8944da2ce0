import type { CloudEvent } from '@google-cloud/functions-framework';
import { decodeMessage } from '#functions/decode-message.ts';
import type { PortsFor } from '#functions/function-ports.ts';
import { jobUpdateSchema } from '#shared/protocol/stage-message.ts';
import { type ReportPorts, reportJob } from '#shared/use-cases/reports/report-job.ts';

/** Topic `job-updates` → the report beside the upload. The message only names the job, whose current state is read. */
export function createReport(ports: PortsFor<ReportPorts>) {
  return async (event: CloudEvent<unknown>): Promise<void> => {
    const update = decodeMessage(event, jobUpdateSchema, ports.logger);
    if (update !== undefined) {
      await reportJob(ports, update.jobId, ports.clock.now());
    }
  };
}
