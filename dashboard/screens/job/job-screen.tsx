import { useResource } from '#dashboard/client/use-resource.ts';
import { ErrorPanel } from '#dashboard/components/error-panel.tsx';
import { useNow } from '#dashboard/components/use-now.ts';
import { LogView } from '#dashboard/log/log-view.tsx';
import { Link } from '#dashboard/navigation/link.tsx';
import { navigate, setQuery, useQuery } from '#dashboard/navigation/location.ts';
import { addressOfJob } from '#dashboard/navigation/route.ts';
import { DefinitionPanel } from '#dashboard/screens/job/definition-panel.tsx';
import { FilesPanel } from '#dashboard/screens/job/files-panel.tsx';
import { JobAlerts } from '#dashboard/screens/job/job-alerts.tsx';
import { JobHeader } from '#dashboard/screens/job/job-header.tsx';
import { MetricsPanel } from '#dashboard/screens/job/metrics-panel.tsx';
import { ReplicasPanel } from '#dashboard/screens/job/replicas-panel.tsx';
import { TrialsPanel } from '#dashboard/screens/job/tuning/trials-panel.tsx';
import { listReplicas } from '#shared/domain/replica-name.ts';
import type { JobView } from '#shared/protocol/job-view.ts';

const TABS = {
  trials: 'Trials',
  metrics: 'Metrics',
  replicas: 'Replicas',
  log: 'Log',
  files: 'Files',
  definition: 'Job file',
} as const;
type Tab = keyof typeof TABS;

/** One job: why it failed or waits, its curves, log and files. */
export function JobScreen({ jobId }: { readonly jobId: string }) {
  const {
    data: job,
    error,
    isLoading,
    reload,
  } = useResource<JobView>(`/v1/jobs/${encodeURIComponent(jobId)}`, [jobId]);
  const now = useNow(job?.endTime === null);
  if (job === undefined) {
    return (
      <section>
        <h1 class="screen-title user-text">{jobId}</h1>
        {error !== null && <ErrorPanel error={error} onRetry={reload} />}
        {error === null && isLoading && <p class="loading">Reading the job…</p>}
      </section>
    );
  }
  return (
    <article class="job">
      {error !== null && <ErrorPanel error={error} onRetry={reload} />}
      <JobHeader {...{ job, now }} onChange={reload} />
      <JobAlerts {...{ job, now }} onChange={reload} />
      <JobTabs job={job} />
    </article>
  );
}

function JobTabs({ job }: { readonly job: JobView }) {
  const query = useQuery();
  const isCluster = listReplicas(job.machines).length > 1;
  const ofJob: readonly Tab[] = ['metrics', ...(isCluster ? ['replicas' as const] : []), 'log', 'files', 'definition'];
  const tabs: readonly Tab[] = job.tuning === null ? ofJob : ['trials', 'files', 'definition'];
  const current = tabs.find((tab) => tab === query.get('tab')) ?? tabs[0] ?? 'metrics';
  const addressOf = (tab: Tab) => `${addressOfJob(job.jobId)}${tab === tabs[0] ? '' : `?tab=${tab}`}`;
  return (
    <>
      <nav class="tabs" aria-label={`Parts of ${job.jobId}`}>
        {tabs.map((tab) => (
          <Link key={tab} class="tab" href={addressOf(tab)} isCurrent={tab === current}>
            {TABS[tab]}
          </Link>
        ))}
      </nav>
      <JobPart job={job} tab={current} />
    </>
  );
}

function JobPart({ job, tab }: { readonly job: JobView; readonly tab: Tab }) {
  switch (tab) {
    case 'trials':
      return job.tuning === null ? null : <TrialsPanel job={job} tuning={job.tuning} />;
    case 'metrics':
      return <MetricsPanel job={job} />;
    case 'log':
      return <JobLog job={job} />;
    case 'replicas':
      return <ReplicasPanel job={job} />;
    case 'files':
      return <FilesPanel job={job} />;
    case 'definition':
      return <DefinitionPanel job={job} />;
  }
}

/** The log of the job, or of the replica in the address. */
function JobLog({ job }: { readonly job: JobView }) {
  const replica = useQuery().get('replica');
  return (
    <LogView
      key={replica}
      {...{ jobId: job.jobId, replica, replicas: listReplicas(job.machines) }}
      onReplica={(name) => setQuery({ replica: name })}
      isRunning={job.endTime === null}
      onOpenFiles={() => navigate(`${addressOfJob(job.jobId)}?tab=files&folder=dropforge-logs/`)}
    />
  );
}
