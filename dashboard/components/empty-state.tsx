import type { ComponentChildren } from 'preact';

type Props = { readonly title: string; readonly children?: ComponentChildren };

/** In place of a list or chart without content: what is missing, and what fills it. */
export function EmptyState({ title, children }: Props) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}
