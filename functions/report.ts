import type { CloudEvent } from '@google-cloud/functions-framework';
import { decodeMessage } from '#functions/decode-message.ts';
import type { PortsFor } from '#functions/function-ports.ts';
import { jobUpdatesMessageSchema } from '#shared/protocol/job-update.ts';
import { type ReportPorts, reportJob } from '#shared/use-cases/reports/report-job.ts';

/**
 * Topic `job-updates` → the report beside the upload. The message only names the job, whose current state is read. The
 * report of a refused upload is written by intake.
 */
export function createReport(ports: PortsFor<ReportPorts>) {
  return async (event: CloudEvent<unknown>): Promise<void> => {
    const message = decodeMessage(event, jobUpdatesMessageSchema, ports.logger);
    if (message?.type === 'JOB_UPDATE') {
      await reportJob(ports, message.jobId, ports.clock.now());
    }
  };
}
