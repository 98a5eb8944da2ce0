import type { HttpFunction } from '@google-cloud/functions-framework';
import * as z from 'zod';
import type { FunctionPorts, PortsFor } from '#functions/function-ports.ts';
import { nameJob } from '#shared/observability/invocation.ts';
import { HEARTBEAT_BYTES_MAX, heartbeatSchema } from '#shared/protocol/heartbeat.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';
import type { PeerPorts } from '#shared/use-cases/heartbeat/peer-secret.ts';
import { type HeartbeatPorts, recordHeartbeat } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import type { MeasurementPorts } from '#shared/use-cases/heartbeat/record-measurements.ts';
import { logDecision } from '#shared/use-cases/log-lines.ts';

const REJECTED = { decision: 'HEARTBEAT_REJECTED' } as const;

/** The only endpoint for VMs: receives a signed identity and a heartbeat, returns CONTINUE, WAIT or STOP. */
export function createHeartbeat(
  ports: PortsFor<HeartbeatPorts & MeasurementPorts & PeerPorts & Pick<FunctionPorts, 'verifyVmIdentity'>>,
): HttpFunction {
  return async (request, response) => {
    const verified = await ports.verifyVmIdentity(request.headers.authorization);
    if (verified.outcome === 'REJECTED') {
      const { reason: problem } = verified;
      const message = 'heartbeat without a valid identity';
      logDecision(ports.logger, { severity: 'WARNING', message, ...REJECTED, reason: 'INVALID_IDENTITY', problem });
      response.status(401).json({ error: { message: verified.reason } });
      return;
    }
    if ((request.rawBody?.byteLength ?? 0) > HEARTBEAT_BYTES_MAX) {
      response.status(413).json({ error: { message: `The heartbeat is larger than ${HEARTBEAT_BYTES_MAX} bytes.` } });
      return;
    }
    // Not the framework's: it parses before the token was checked, if the request says that it is JSON.
    const parsed = heartbeatSchema.safeParse(parseJson(request.rawBody?.toString('utf8') ?? ''));
    if (!parsed.success) {
      const message = z.prettifyError(parsed.error);
      const { vmName } = verified.identity;
      const rejected = { ...REJECTED, reason: 'MALFORMED', vmName, problem: message };
      logDecision(ports.logger, { severity: 'ERROR', message: 'heartbeat is malformed', ...rejected });
      response.status(400).json({ error: { message } });
      return;
    }
    nameJob(parsed.data.jobId);
    response.json(await recordHeartbeat(ports, parsed.data, { ...verified.identity, at: ports.clock.now() }));
  };
}
