import { useState } from 'preact/hooks';
import { ApiError } from '#dashboard/client/api-error.ts';
import { postJson, send } from '#dashboard/client/request.ts';
import { ConfirmDialog } from '#dashboard/components/confirm-dialog.tsx';
import { Icon } from '#dashboard/components/icon.tsx';
import { showToast } from '#dashboard/components/toasts.tsx';
import { CloneDialog } from '#dashboard/screens/job/clone-dialog.tsx';
import type { JobDefinition } from '#shared/protocol/job-definition.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { isEnded } from '#shared/views/describe/is-ended.ts';

type Props = { readonly job: JobView; readonly onChange: () => void };

export function JobActions({ job, onChange }: Props) {
  const [opened, setOpened] = useState<'CANCEL' | 'CLONE' | null>(null);
  const canCancel = !isEnded(job) && job.state !== 'CANCELLING';
  return (
    <span class="job-actions">
      <button type="button" class="button" onClick={() => void copyCommand(job.jobId)}>
        <Icon name="copy" />
        Copy as command
      </button>
      <button type="button" class="button" onClick={() => setOpened('CLONE')}>
        Clone…
      </button>
      {canCancel && (
        <button type="button" class="button button-danger" onClick={() => setOpened('CANCEL')}>
          <Icon name="stop" />
          Cancel…
        </button>
      )}
      {opened === 'CANCEL' && <CancelDialog job={job} onChange={onChange} onClose={() => setOpened(null)} />}
      {opened === 'CLONE' && <CloneDialog jobId={job.jobId} onClose={() => setOpened(null)} />}
    </span>
  );
}

async function copyCommand(jobId: string): Promise<void> {
  try {
    const response = await send(`/v1/jobs/${encodeURIComponent(jobId)}/definition`);
    const { repetition }: JobDefinition = await response.json();
    await navigator.clipboard.writeText(repetition.command);
    showToast(`The command that submits this job again, as ${repetition.jobId}, was copied.`);
  } catch (error) {
    const denied = 'The browser denied access to the clipboard: copy the command from the tab Job file.';
    showToast(error instanceof ApiError ? `${error.message} ${error.remedy}` : denied, 'error');
  }
}

function CancelDialog({ job, onChange, onClose }: Props & { readonly onClose: () => void }) {
  const cancel = async () => {
    await postJson(`/v1/jobs/${encodeURIComponent(job.jobId)}:cancel`);
    onChange();
    showToast(`${job.jobId} is being cancelled.`);
  };
  return (
    <ConfirmDialog
      title={`Cancel ${job.jobId}?`}
      confirm="Cancel the job"
      dismiss="Keep running"
      onConfirm={cancel}
      onClose={onClose}
    >
      <p>
        {job.tuning === null
          ? 'Its program is stopped and its machines are deleted. What it has saved stays in its job directory.'
          : 'All of its running trials are cancelled. The trials that have ended, and the best one, stay.'}
      </p>
    </ConfirmDialog>
  );
}
