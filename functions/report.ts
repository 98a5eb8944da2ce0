import type { CloudEvent } from '@google-cloud/functions-framework';
import { decodeMessage } from '#functions/decode-message.ts';
import type { PortsFor } from '#functions/function-ports.ts';
import { jobUpdateSchema } from '#shared/protocol/stage-message.ts';
import { type ReportPorts, reportJob } from '#shared/use-cases/reports/report-job.ts';

/** Events topic → the report object beside the upload. The message says which job; what is written is read then. */
export function createReport(ports: PortsFor<ReportPorts>) {
  return async (event: CloudEvent<unknown>): Promise<void> => {
    const announcement = decodeMessage(event, jobUpdateSchema, ports.logger);
    if (announcement !== undefined) {
      await reportJob(ports, announcement.jobId, ports.clock.now());
    }
  };
}
