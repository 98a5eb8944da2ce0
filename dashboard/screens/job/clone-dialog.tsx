import { useState } from 'preact/hooks';
import { postJson } from '#dashboard/client/request.ts';
import { useResource } from '#dashboard/client/use-resource.ts';
import { ConfirmDialog } from '#dashboard/components/confirm-dialog.tsx';
import { ErrorPanel } from '#dashboard/components/error-panel.tsx';
import { showToast } from '#dashboard/components/toasts.tsx';
import { navigate } from '#dashboard/navigation/location.ts';
import { addressOfJob } from '#dashboard/navigation/route.ts';
import { type CloneDraft as Draft, renamed } from '#dashboard/screens/job/rename-clone.ts';
import type { JobDefinition } from '#shared/protocol/job-definition.ts';

type Props = { readonly jobId: string; readonly onClose: () => void };

/** Edits the job file and the flags of a job, and submits them as another one. */
export function CloneDialog({ jobId, onClose }: Props) {
  const { data, error } = useResource<JobDefinition>(`/v1/jobs/${encodeURIComponent(jobId)}/definition`);
  const [edited, setEdited] = useState<Draft | null>(null);
  const draft = edited ?? data?.repetition.submission ?? null;
  const submit = async () => {
    const { jobId: started } = await postJson<{ readonly jobId: string }>('/v1/jobs', draft);
    navigate(addressOfJob(started));
    showToast(`${started} was submitted.`);
  };
  return (
    <ConfirmDialog
      title={`Clone ${jobId}`}
      confirm="Start"
      dismiss="Close"
      canConfirm={draft !== null}
      onConfirm={submit}
      onClose={onClose}
    >
      {error !== null && <ErrorPanel error={error} />}
      {draft !== null && <CloneForm draft={draft} onChange={setEdited} />}
    </ConfirmDialog>
  );
}

function CloneForm({ draft, onChange }: { readonly draft: Draft; readonly onChange: (draft: Draft) => void }) {
  return (
    <div class="form">
      <label class="field">
        <span>Job id</span>
        <input
          class="input"
          value={draft.jobId}
          onInput={(event) => onChange(renamed(draft, event.currentTarget.value))}
        />
      </label>
      {draft.jobFile !== null && (
        <label class="field">
          <span>Job file</span>
          <textarea
            class="input code-input"
            rows={18}
            spellcheck={false}
            value={draft.jobFile}
            onInput={(event) => onChange({ ...draft, jobFile: event.currentTarget.value })}
          />
        </label>
      )}
      {draft.flags.length > 0 && (
        <label class="field">
          <span>Flags, which override the job file</span>
          <textarea
            class="input code-input"
            rows={draft.flags.length}
            spellcheck={false}
            value={draft.flags.join('\n')}
            // A flag with several lines cannot be told from several flags.
            readOnly={draft.flags.some((flag) => flag.includes('\n'))}
            onInput={(event) => onChange({ ...draft, flags: event.currentTarget.value.split('\n') })}
          />
        </label>
      )}
      <p class="muted">It runs the same packages; change the arguments, the machine or any other field.</p>
    </div>
  );
}
