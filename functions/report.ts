import type { PortsFor } from '#functions/function-ports.ts';
import { decodeMessage, type PushedMessage } from '#functions/pushed-message.ts';
import { jobUpdatesMessageSchema } from '#shared/protocol/job-update.ts';
import { type ReportPorts, reportJob } from '#shared/use-cases/reports/report-job.ts';

/**
 * Topic `job-updates` → the report beside the upload. The message only names the job, whose current state is read. The
 * report of a refused upload is written by intake.
 */
export function createReport(ports: PortsFor<ReportPorts>) {
  return async (pushed: PushedMessage): Promise<void> => {
    const message = decodeMessage(pushed, jobUpdatesMessageSchema);
    if (message.type === 'JOB_UPDATE') {
      await reportJob(ports, message.jobId, ports.clock.now());
    }
  };
}
