import { useState } from 'preact/hooks';
import { useResource } from '#dashboard/client/use-resource.ts';
import type { Column } from '#dashboard/components/column.ts';
import { CopyButton } from '#dashboard/components/copy-button.tsx';
import { DataTable } from '#dashboard/components/data-table.tsx';
import { EmptyState } from '#dashboard/components/empty-state.tsx';
import { ErrorPanel } from '#dashboard/components/error-panel.tsx';
import { Icon } from '#dashboard/components/icon.tsx';
import { formatDateTime } from '#dashboard/format/format-time.ts';
import { setQuery, useQuery } from '#dashboard/navigation/location.ts';
import type { FileRole, JobFileEntry, JobFiles } from '#shared/protocol/job-files.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { formatBytes } from '#shared/text/format-number.ts';

const ROLE_NAMES: Readonly<Record<FileRole, string>> = {
  LOG: 'log',
  METRICS: 'metrics',
  MANIFEST: 'manifest',
  PARTS: 'parts',
  EVENTS: 'TensorBoard',
  CHECKPOINT: 'checkpoint',
  MODEL: 'model',
  OTHER: '',
};

/** The job directory, folder by folder. */
export function FilesPanel({ job }: { readonly job: JobView }) {
  const prefix = useQuery().get('folder') ?? '';
  // Pages that were shown before the current one, so that one can go back.
  const [tokens, setTokens] = useState<readonly string[]>([]);
  const token = tokens.at(-1);
  const query = new URLSearchParams({ prefix, ...(token === undefined ? {} : { pageToken: token }) });
  const path = `/v1/jobs/${encodeURIComponent(job.jobId)}/files`;
  const { data, error, isLoading, reload } = useResource<JobFiles>(`${path}?${query}`, [job.jobId]);
  const open = (folder: string) => {
    setTokens([]);
    setQuery({ folder });
  };
  const next = data?.nextPageToken;
  return (
    <section class="card files" aria-label="Files">
      <Location jobDir={job.jobDir} prefix={prefix} onOpen={open} />
      {error !== null && <ErrorPanel error={error} onRetry={reload} />}
      {data !== undefined && data.entries.length === 0 && (
        <EmptyState title="No files yet">
          The program's output directory is saved here while it runs, logs and metrics beside it.
        </EmptyState>
      )}
      {data === undefined && isLoading && <p class="loading">Reading the job directory…</p>}
      {data !== undefined && data.entries.length > 0 && <FileTable files={data} path={path} onOpen={open} />}
      {(tokens.length > 0 || next !== undefined) && (
        <nav class="files-pages" aria-label="Pages of files">
          <button
            type="button"
            class="button"
            disabled={tokens.length === 0}
            onClick={() => setTokens(tokens.slice(0, -1))}
          >
            Previous
          </button>
          <button
            type="button"
            class="button"
            disabled={next === undefined}
            onClick={() => next !== undefined && setTokens([...tokens, next])}
          >
            Next
          </button>
        </nav>
      )}
    </section>
  );
}

type LocationProps = { readonly jobDir: string; readonly prefix: string; readonly onOpen: (folder: string) => void };

function Location({ jobDir, prefix, onOpen }: LocationProps) {
  const folders = prefix.split('/').slice(0, -1);
  return (
    <nav class="files-location" aria-label="Folder">
      <button type="button" class="text-button user-text" onClick={() => onOpen('')}>
        {jobDir}
      </button>
      {folders.map((folder, index) => {
        const path = `${folders.slice(0, index + 1).join('/')}/`;
        return (
          <span key={path}>
            {' / '}
            <button type="button" class="text-button user-text" onClick={() => onOpen(path)}>
              {folder}
            </button>
          </span>
        );
      })}
      <CopyButton
        text={`gcloud storage cp -r '${jobDir}/${prefix}' .`}
        label="Copy the command that downloads this folder"
      />
    </nav>
  );
}

type TableProps = { readonly files: JobFiles; readonly path: string; readonly onOpen: (folder: string) => void };

function FileTable({ files, path, onOpen }: TableProps) {
  const nameOf = (entry: JobFileEntry) => entry.name.slice(files.prefix.length);
  const columns: readonly Column<JobFileEntry>[] = [
    { header: 'Name', cell: (entry) => <FileName {...{ entry, onOpen }} name={nameOf(entry)} /> },
    {
      header: 'Size',
      class: 'number',
      cell: (entry) => (entry.kind === 'FOLDER' ? '' : formatBytes(entry.sizeBytes)),
    },
    {
      header: 'Changed',
      class: 'wide-only muted',
      cell: (entry) => (entry.kind === 'FOLDER' ? '' : formatDateTime(entry.updateTime)),
    },
    {
      header: <span class="visually-hidden">Download</span>,
      class: 'number',
      cell: (entry) => entry.kind === 'FILE' && <Download {...{ entry, files, path }} name={nameOf(entry)} />,
    },
  ];
  return <DataTable rows={files.entries} keyOf={({ name }) => name} columns={columns} />;
}

type NameProps = Pick<TableProps, 'onOpen'> & { readonly entry: JobFileEntry; readonly name: string };

function FileName({ entry, name, onOpen }: NameProps) {
  const role = ROLE_NAMES[entry.role];
  const isFolder = entry.kind === 'FOLDER';
  return (
    <span class="file-name">
      <Icon name={isFolder ? 'folder' : 'file'} />
      {isFolder ? (
        <button type="button" class="text-button user-text" onClick={() => onOpen(entry.name)}>
          {name}
        </button>
      ) : (
        <span class="user-text">{name}</span>
      )}
      {role !== '' && <span class={`tag file-${entry.role.toLowerCase()}`}>{role}</span>}
    </span>
  );
}

type DownloadProps = {
  readonly entry: Extract<JobFileEntry, { kind: 'FILE' }>;
  readonly files: JobFiles;
  readonly path: string;
  readonly name: string;
};

/** A file that is too large for the API is copied from the bucket. */
function Download({ entry, files, path, name }: DownloadProps) {
  return entry.sizeBytes > files.downloadBytesMax ? (
    <CopyButton
      text={`gcloud storage cp '${files.jobDir}/${entry.name}' .`}
      label={`${name} is too large for a download here: copy the command that downloads it`}
    />
  ) : (
    <a
      class="icon-button"
      href={`${path}/content?name=${encodeURIComponent(entry.name)}`}
      download={name}
      aria-label={`Download ${name}`}
    >
      <Icon name="download" />
    </a>
  );
}
