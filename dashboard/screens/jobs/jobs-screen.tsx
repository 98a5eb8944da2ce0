import { useResource } from '#dashboard/client/use-resource.ts';
import { EmptyState } from '#dashboard/components/empty-state.tsx';
import { ErrorPanel } from '#dashboard/components/error-panel.tsx';
import { StateBadge } from '#dashboard/components/state-badge.tsx';
import { Link } from '#dashboard/navigation/link.tsx';
import { addressOfJob } from '#dashboard/navigation/route.ts';
import type { JobView } from '#shared/protocol/report.ts';

type JobsPage = { readonly jobs: readonly JobView[]; readonly nextPageToken?: string };

/** All jobs, newest first. */
export function JobsScreen() {
  const { data, error, reload } = useResource<JobsPage>('/v1/jobs', 'ALL');
  return (
    <section>
      <h1 class="screen-title">Jobs</h1>
      {error !== null && <ErrorPanel error={error} onRetry={reload} />}
      {data?.jobs.length === 0 && <EmptyState title="There are no jobs yet." />}
      <ul>
        {data?.jobs.map(({ jobId, state }) => (
          <li key={jobId}>
            <Link href={addressOfJob(jobId)}>{jobId}</Link> <StateBadge state={state} />
          </li>
        ))}
      </ul>
    </section>
  );
}
