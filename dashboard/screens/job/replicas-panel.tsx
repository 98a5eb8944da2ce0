import type { Column } from '#dashboard/components/column.ts';
import { DataTable } from '#dashboard/components/data-table.tsx';
import { EmptyState } from '#dashboard/components/empty-state.tsx';
import { useNow } from '#dashboard/components/use-now.ts';
import { Link } from '#dashboard/navigation/link.tsx';
import { addressOfJob } from '#dashboard/navigation/route.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { formatAgo } from '#shared/text/format-time.ts';
import { describeProgress, describeUsage } from '#shared/views/describe/describe-replica.ts';

type Replica = JobView['replicas'][number];

/** The replicas of a cluster in its last attempt, a row each, with the log of each. */
export function ReplicasPanel({ job }: { readonly job: JobView }) {
  const now = useNow(job.endTime === null);
  return (
    <section class="card table-scroll" aria-label="Replicas">
      {job.replicas.length === 0 ? (
        <EmptyState title="No VMs yet">The replicas appear here when their VMs exist.</EmptyState>
      ) : (
        <DataTable rows={job.replicas} columns={columnsOf(job.jobId, now)} keyOf={({ replica }) => replica} />
      )}
    </section>
  );
}

function columnsOf(jobId: string, now: number): readonly Column<Replica>[] {
  return [
    {
      header: 'Replica',
      cell: ({ replica }) => <Link href={`${addressOfJob(jobId)}?tab=log&replica=${replica}`}>{replica}</Link>,
    },
    { header: 'VM', cell: ({ vmName }) => vmName },
    { header: 'Phase', cell: ({ phase }) => phase },
    { header: 'Restarts', class: 'number', cell: ({ restarts }) => restarts },
    { header: 'Exit code', class: 'number', cell: ({ exitCode }) => exitCode ?? '–' },
    { header: 'Heartbeat', cell: ({ heardTime }) => formatAgo(heardTime, now) },
    { header: 'Progress', cell: (replica) => describeProgress(replica) || '–' },
    { header: 'Usage', cell: (replica) => describeUsage(replica) || '–' },
    {
      header: 'Own cause',
      class: 'user-text',
      cell: ({ cause }) => cause !== null && <span title={cause.message}>{cause.code}</span>,
    },
  ];
}
