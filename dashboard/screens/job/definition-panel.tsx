import { useResource } from '#dashboard/client/use-resource.ts';
import { CopyButton } from '#dashboard/components/copy-button.tsx';
import { ErrorPanel } from '#dashboard/components/error-panel.tsx';
import { FindingList } from '#dashboard/components/finding-list.tsx';
import { ImageList } from '#dashboard/components/image-list.tsx';
import { ScrollRegion } from '#dashboard/components/scroll-region.tsx';
import type { JobDefinition } from '#shared/protocol/job-definition.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { formatBytes } from '#shared/text/format-number.ts';

/** The job file as it was submitted, what was found in it, and the command that submits it again. */
export function DefinitionPanel({ job }: { readonly job: JobView }) {
  const path = `/v1/jobs/${encodeURIComponent(job.jobId)}/definition`;
  const { data, error, isLoading, reload } = useResource<JobDefinition>(path);
  if (error !== null) {
    return <ErrorPanel error={error} onRetry={reload} />;
  }
  if (data === undefined) {
    return isLoading ? <p class="loading">Reading the job file…</p> : null;
  }
  return (
    <div class="definition">
      <FindingList findings={data.warnings} tone="warning" />
      {!data.isComplete && (
        <p class="muted">The text of this job is not stored. This file says what it runs, and can lack a part.</p>
      )}
      <CodeBlock title="Job file, as it was submitted" text={data.jobFile} />
      <CodeBlock title="Submit it again" text={data.repetition.command} />
      {job.images.length > 0 && <ImageList images={job.images} />}
      <section class="card code-card" aria-label="Packages">
        <header class="section-header">
          <h2>Packages</h2>
        </header>
        <ul class="packages">
          {data.packages.map(({ uri, sizeBytes }) => (
            <li key={uri}>
              <span class="mono user-text">{uri}</span> <span class="muted">{formatBytes(sizeBytes)}</span>
            </li>
          ))}
          <li class="muted">
            Submitted as <span class="mono user-text">{job.source}</span>
          </li>
        </ul>
      </section>
    </div>
  );
}

function CodeBlock({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <div class="card code-card">
      <header class="section-header">
        <h2>{title}</h2>
        <CopyButton text={text} label={`Copy: ${title}`} />
      </header>
      <ScrollRegion class="code" label={title}>
        <pre>{text}</pre>
      </ScrollRegion>
    </div>
  );
}
