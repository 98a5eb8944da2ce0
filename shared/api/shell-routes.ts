import type { Hono } from 'hono';
import { callerOf } from '#shared/api/identify-callers.ts';
import { errorResponse, readRequested } from '#shared/api/request.ts';
import { isKeeping, type Job } from '#shared/domain/job.ts';
import type { Logger } from '#shared/observability/logger.ts';
import type { Clock } from '#shared/ports/clock.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';
import { shellRequestSchema } from '#shared/protocol/submission.ts';
import { logDecision } from '#shared/use-cases/log-lines.ts';
import { findShell } from '#shared/use-cases/shell/find-shell.ts';
import { recordShell } from '#shared/use-cases/shell/record-shell.ts';
import { releaseVm } from '#shared/use-cases/shell/release-vm.ts';
import { type ViewPorts, viewSubmitted } from '#shared/views/view-submitted.ts';

type Ports = ViewPorts &
  Parameters<typeof releaseVm>[0] & {
    readonly clock: Clock;
    readonly logger: Logger;
    readonly intake: { readonly hasShellAccess?: boolean | undefined };
  };

const TERRAFORM_LINE = 'shell_access = { members = ["user:YOU@example.com"] }';

/**
 * `POST /v1/jobs/JOB:openShell` names the VM in which a shell can be opened, and records who asks; `:release` ends the
 * time of a VM that is kept. The shell itself does not pass through the API.
 */
export function routeShell(app: Hono, ports: Ports): void {
  app.post('/v1/jobs/:target{.+:openShell}', async (context) => {
    const job = await readJob(ports, context.req.param('target').replace(/:openShell$/, ''));
    const text = await context.req.text();
    const request = shellRequestSchema.safeParse(text === '' ? {} : parseJson(text));
    if (!request.success) {
      throw errorResponse(400, 'The body is not a request for a shell.', 'Send {"replica": "master-0"}, or nothing.');
    }
    if (ports.intake.hasShellAccess !== true) {
      const remedy = `Have it turned on in Terraform: ${TERRAFORM_LINE} (docs/shell.md).`;
      throw errorResponse(403, 'Shell access is off in this deployment.', remedy);
    }
    const { replica, command } = request.data;
    const search = findShell(job, replica);
    if (search.outcome === 'NONE') {
      throw errorResponse(409, search.message, search.remedy);
    }
    const by = callerOf(context);
    await recordShell(ports, { jobId: job.jobId, replica: search.target.replica, by }, ports.clock.now());
    // The history says who and when; what was run is in the log only.
    const what = { ...search.target, by, command: command ?? null };
    logDecision(ports.logger, { decision: 'SHELL_OPENED', message: 'shell opened', ...what });
    return context.json(search.target);
  });

  app.post('/v1/jobs/:target{.+:release}', async (context) => {
    const job = await readJob(ports, context.req.param('target').replace(/:release$/, ''));
    if (!isKeeping(job)) {
      const isOpen = job.status !== 'CLOSED' && job.status !== 'CLOSING';
      const remedy = isOpen ? `To end the job, cancel it: dropforge jobs cancel ${job.jobId}.` : 'No action needed.';
      throw errorResponse(409, `Job ${job.jobId} keeps no VM.`, remedy);
    }
    await releaseVm(ports, { jobId: job.jobId, by: callerOf(context) }, ports.clock.now());
    const released = await readJob(ports, job.jobId);
    return context.json(await viewSubmitted(ports, released, ports.clock.now()));
  });
}

async function readJob(ports: ViewPorts, given: string): Promise<Job> {
  const submitted = await readRequested(ports, given);
  if ('tuningId' in submitted) {
    const remedy = `Choose one of its trials: dropforge trials ${submitted.tuningId}.`;
    throw errorResponse(409, `${submitted.tuningId} is a tuning, which has no VMs of its own.`, remedy);
  }
  return submitted;
}
