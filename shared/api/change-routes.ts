import type { Hono } from 'hono';
import { readJobId } from '#shared/api/request.ts';
import type { ChangeFeed } from '#shared/ports/change-feed.ts';

/** `GET /v1/changes?since=MARKER&job=ID`: the jobs and tunings that changed since the answer with this marker. */
export function routeChanges(app: Hono, { changes }: { readonly changes: ChangeFeed }): void {
  app.get('/v1/changes', async ({ req, json }) => {
    const jobId = req.query('job');
    return json(
      await changes.list({ marker: req.query('since'), jobId: jobId === undefined ? undefined : readJobId(jobId) }),
    );
  });
}
