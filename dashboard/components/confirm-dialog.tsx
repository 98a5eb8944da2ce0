import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type ApiError, asApiError } from '#dashboard/client/api-error.ts';
import { Dialog } from '#dashboard/components/dialog.tsx';
import { ErrorPanel } from '#dashboard/components/error-panel.tsx';
import { FindingList } from '#dashboard/components/finding-list.tsx';

type Props = {
  readonly title: string;
  /** The names of the buttons. */
  readonly confirm: string;
  readonly dismiss: string;
  readonly canConfirm?: boolean;
  readonly children: ComponentChildren;
  /** Performs the action. Its error is shown, and the action can be tried again. */
  readonly onConfirm: () => Promise<void>;
  /** Called after the action, and when the dialog is dismissed. */
  readonly onClose: () => void;
};

/** Asks before an action, and performs it once. */
export function ConfirmDialog({ title, confirm, dismiss, canConfirm = true, children, onConfirm, onClose }: Props) {
  const [error, setError] = useState<ApiError | null>(null);
  const [isSent, setSent] = useState(false);
  const perform = async () => {
    setSent(true);
    try {
      await onConfirm();
      onClose();
    } catch (thrown) {
      setError(asApiError(thrown));
      setSent(false);
    }
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <button type="button" class="button" onClick={onClose}>
            {dismiss}
          </button>
          <button
            type="button"
            class="button button-primary"
            disabled={!canConfirm || isSent}
            onClick={() => void perform()}
          >
            {confirm}
          </button>
        </>
      }
    >
      {children}
      {error !== null && <ErrorPanel error={error} />}
      {error !== null && <FindingList findings={error.problems} tone="error" />}
    </Dialog>
  );
}
