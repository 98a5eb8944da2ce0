import { useState } from 'preact/hooks';
import { Icon } from '#dashboard/components/icon.tsx';
import { showToast } from '#dashboard/components/toasts.tsx';

const SHOWN_MS = 1_500;

type Props = { readonly text: string; readonly label: string };

/** Copies a text to the clipboard, and then calls back; says so if the browser denies it. */
export function copyText(text: string, onCopied: () => void): void {
  navigator.clipboard
    .writeText(text)
    .then(onCopied, () =>
      showToast('The browser denied access to the clipboard: select and copy the text yourself.', 'error'),
    );
}

/** Copies a text to the clipboard. */
export function CopyButton({ text, label }: Props) {
  const [isCopied, setCopied] = useState(false);
  const copy = () =>
    copyText(text, () => {
      setCopied(true);
      setTimeout(() => setCopied(false), SHOWN_MS);
    });
  return (
    <button type="button" class="icon-button" aria-label={isCopied ? 'Copied' : label} title={label} onClick={copy}>
      <Icon name={isCopied ? 'check' : 'copy'} />
    </button>
  );
}
