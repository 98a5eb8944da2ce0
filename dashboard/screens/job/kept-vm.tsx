import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '#dashboard/client/api-error.ts';
import { postJson } from '#dashboard/client/request.ts';
import { Alert } from '#dashboard/components/alert.tsx';
import { ConfirmDialog } from '#dashboard/components/confirm-dialog.tsx';
import { showToast } from '#dashboard/components/toasts.tsx';
import type { JobView } from '#shared/protocol/job-view.ts';
import { describeKept, isKept } from '#shared/views/describe/describe-kept.ts';

/** The answer to the release of a VM that is no longer kept: its time ended, or another user released it. */
const STATUS_NOT_KEPT = 409;

type Props = { readonly job: JobView; readonly now: number; readonly onChange: () => void };

/** The VM of a failed program while it is kept for a look, and the button that ends it. */
export function KeptVm({ job, now, onChange }: Props) {
  const [isAsked, setAsked] = useState(false);
  const { jobId } = job;
  const isStillKept = isKept(job);
  useEffect(() => {
    if (isAsked && !isStillKept) {
      setAsked(false);
      showToast(`The VM of ${jobId} is not kept any longer.`);
    }
  }, [isAsked, isStillKept]);
  const release = async () => {
    try {
      await postJson(`/v1/jobs/${encodeURIComponent(jobId)}:release`);
    } catch (thrown) {
      if (thrown instanceof ApiError && thrown.status === STATUS_NOT_KEPT) {
        onChange();
      }
      throw thrown;
    }
    // Before the job is read again, in which the VM is not kept any longer.
    setAsked(false);
    onChange();
    showToast(`The VM of ${jobId} is being deleted.`);
  };
  return !isStillKept ? null : (
    <Alert tone="info" code="KEPT" title={describeKept(job, now) ?? ''}>
      <p class="user-text">
        Look at it: <code>dropforge exec {jobId}</code>
      </p>
      <p class="alert-actions">
        <button type="button" class="button" onClick={() => setAsked(true)}>
          Release…
        </button>
      </p>
      {isAsked && (
        <ConfirmDialog
          title={`Release the VM of ${jobId}?`}
          confirm="Release the VM"
          dismiss="Keep it"
          onConfirm={release}
          onClose={() => setAsked(false)}
        >
          <p>
            It is deleted with everything on its disk. The output of the program, its log and its metrics were saved
            when it failed.
          </p>
        </ConfirmDialog>
      )}
    </Alert>
  );
}
