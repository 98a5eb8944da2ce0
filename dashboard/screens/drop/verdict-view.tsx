import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '#dashboard/client/api-error.ts';
import { getJson } from '#dashboard/client/request.ts';
import { ErrorPanel } from '#dashboard/components/error-panel.tsx';
import { FindingList } from '#dashboard/components/finding-list.tsx';
import { Icon } from '#dashboard/components/icon.tsx';
import { ImageList } from '#dashboard/components/image-list.tsx';
import { showToast } from '#dashboard/components/toasts.tsx';
import { navigate } from '#dashboard/navigation/location.ts';
import { addressOfJob } from '#dashboard/navigation/route.ts';
import { JobFileEditor } from '#dashboard/screens/drop/job-file-editor.tsx';
import { PlanCard } from '#dashboard/screens/drop/plan-card.tsx';
import type { Submission, SubmissionStep } from '#dashboard/screens/drop/use-submission.ts';
import type { SubmissionVerdict } from '#shared/protocol/submission.ts';
import { formatBytes, formatCount } from '#shared/text/format-number.ts';

type Verdict = Extract<SubmissionStep, { step: 'VERDICT' }>;
type Props = { readonly submission: Submission; readonly shown: Verdict };

/** The verdict on what the package would start: findings, machines, price, and the button. */
export function VerdictView({ submission, shown }: Props) {
  const { verdict, uploaded, bytes } = shown;
  const [jobFile, setJobFile] = useState<string | undefined>(undefined);
  const isEdited = jobFile !== undefined && jobFile !== verdict.jobFile?.text;
  const { files, modules } = verdict.package ?? { files: 0, modules: [] };
  return (
    <div class="verdict">
      <div class="card verdict-package">
        <Icon name="file" />
        <p class="user-text">
          <strong>{uploaded.fileName}</strong>
          <span class="muted">
            {' '}
            · {formatBytes(bytes)}
            {verdict.package !== null && ` · ${formatCount(files, 'file')}`}
          </span>
        </p>
        <button type="button" class="button" onClick={submission.reset}>
          Choose another
        </button>
      </div>
      <VerdictBanner verdict={verdict} />
      <FindingList findings={verdict.problems} tone="error" />
      <FindingList findings={verdict.warnings} tone="warning" />
      {verdict.plan !== null && <PlanCard plan={verdict.plan} />}
      {verdict.images.length > 0 && <ImageList images={verdict.images} />}
      {submission.error !== null && <ErrorPanel error={submission.error} />}
      <StartBar submission={submission} verdict={verdict} jobFile={jobFile} isEdited={isEdited} />
      <JobFileEditor
        text={jobFile ?? verdict.jobFile?.text ?? ''}
        fileName={verdict.jobFile?.fileName ?? 'job.yaml'}
        modules={modules}
        isEdited={isEdited}
        onEdit={setJobFile}
        onCheck={() => submission.check(jobFile ?? '')}
      />
    </div>
  );
}

function VerdictBanner({ verdict: { verdict, problems, warnings } }: { readonly verdict: SubmissionVerdict }) {
  const isReady = verdict === 'ACCEPTED';
  const text = isReady
    ? warnings.length === 0
      ? 'Ready to start.'
      : `Ready to start, with ${formatCount(warnings.length, 'warning')}.`
    : `${formatCount(problems.length, 'problem')} must be fixed before it can start.`;
  return (
    <p class={isReady ? 'verdict-banner is-ready' : 'verdict-banner'} role="status">
      <Icon name={isReady ? 'check' : 'error'} />
      <strong>{text}</strong>
    </p>
  );
}

type StartProps = {
  readonly submission: Submission;
  readonly verdict: SubmissionVerdict;
  readonly jobFile: string | undefined;
  readonly isEdited: boolean;
};

function StartBar({ submission, verdict, jobFile, isEdited }: StartProps) {
  const [jobId, setJobId] = useState(verdict.jobId ?? '');
  const proposed = useFreeJobId(verdict.jobId);
  useEffect(() => setJobId(proposed), [proposed]);
  const isReady = verdict.verdict === 'ACCEPTED' && !isEdited && !submission.isStarting;
  const start = async () => {
    const job = await submission.start(jobId, jobFile);
    if (job !== null) {
      showToast(`${job.jobId} was started.`);
      navigate(addressOfJob(job.jobId));
    }
  };
  return (
    <div class="start-bar">
      <label class="start-id">
        <span>Job id</span>
        <input
          class="input mono"
          value={jobId}
          maxLength={128}
          spellcheck={false}
          onInput={(event) => setJobId(event.currentTarget.value)}
        />
      </label>
      <button
        type="button"
        class="button button-primary start-button"
        disabled={!isReady || jobId === ''}
        onClick={start}
      >
        {submission.isStarting ? 'Starting…' : 'Start'}
      </button>
      {isEdited && <p class="muted">The job file was changed: check it again before the start.</p>}
    </div>
  );
}

/** The job id if no job has it, otherwise with the time appended. */
function useFreeJobId(jobId: string | null): string {
  const [free, setFree] = useState(jobId ?? '');
  useEffect(() => {
    if (jobId === null) {
      return;
    }
    setFree(jobId);
    getJson(`/v1/jobs/${encodeURIComponent(jobId)}`, null).then(
      () => setFree(`${jobId.slice(0, 100)}_${timeSuffix()}`),
      (error: unknown) => {
        if (!(error instanceof ApiError) || error.status !== 404) {
          showToast('Whether the job id is free could not be checked.', 'error');
        }
      },
    );
  }, [jobId]);
  return free;
}

function timeSuffix(): string {
  return new Date().toISOString().slice(2, 19).replaceAll(/[-:]/g, '').replace('T', '_');
}
