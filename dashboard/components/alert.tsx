import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from '#dashboard/components/icon.tsx';

type AlertProps = {
  readonly tone: 'error' | 'warning' | 'info';
  readonly code: string;
  readonly title: string;
  readonly note?: string;
  readonly children?: ComponentChildren;
};

const ICONS = { error: 'error', warning: 'warning', info: 'next' } as const satisfies Record<string, IconName>;

/** A message that stays as long as its condition lasts. */
export function Alert({ tone, code, title, note, children }: AlertProps) {
  return (
    <section class={`alert alert-${tone}`} aria-label={code}>
      <Icon name={ICONS[tone]} />
      <div class="alert-body">
        <p class="alert-title">
          <span class="user-text">{title}</span>
          <code class="alert-code">{code}</code>
          {note !== undefined && <span class="muted">{note}</span>}
        </p>
        {children}
      </div>
    </section>
  );
}
