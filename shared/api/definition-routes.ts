import type { Hono } from 'hono';
import { readRequested } from '#shared/api/request.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import { defineJob } from '#shared/views/define-job.ts';

/** The history of a job or tuning; its job file as its user wrote it, and the command that submits it once more. */
export function routeDefinition(app: Hono, ports: { readonly jobs: JobStore; readonly tunings: TuningStore }): void {
  app.get('/v1/jobs/:jobId/history', async (context) => {
    const { history } = await readRequested(ports, context.req.param('jobId'));
    return context.json({ history });
  });

  app.get('/v1/jobs/:jobId/definition', async (context) => {
    const submitted = await readRequested(ports, context.req.param('jobId'));
    return context.json(await defineJob(ports, submitted));
  });
}
