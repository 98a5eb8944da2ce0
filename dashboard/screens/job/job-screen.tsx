import { useResource } from '#dashboard/client/use-resource.ts';
import { ErrorPanel } from '#dashboard/components/error-panel.tsx';
import { StateBadge } from '#dashboard/components/state-badge.tsx';
import type { JobView } from '#shared/protocol/report.ts';

/** One job: why it failed or waits, its curves, log and files. */
export function JobScreen({ jobId }: { readonly jobId: string }) {
  const { data, error, reload } = useResource<JobView>(`/v1/jobs/${encodeURIComponent(jobId)}`, [jobId]);
  return (
    <section>
      <h1 class="screen-title">{jobId}</h1>
      {error !== null && <ErrorPanel error={error} onRetry={reload} />}
      {data !== undefined && <StateBadge state={data.state} />}
    </section>
  );
}
