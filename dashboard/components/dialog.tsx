import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Icon } from '#dashboard/components/icon.tsx';

type Props = {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** Buttons below the content. */
  readonly actions?: ComponentChildren;
};

/** A modal dialog: the browser keeps the focus inside, closes it with Escape, and returns the focus when it closes. */
export function Dialog({ title, onClose, children, actions }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const opened = dialog.current;
    opened?.showModal();
    return () => opened?.close();
  }, []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={titleId} onCancel={onClose} onClose={onClose}>
      <header class="dialog-header">
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="dialog-body">{children}</div>
      {actions !== undefined && <footer class="dialog-actions">{actions}</footer>}
    </dialog>
  );
}
