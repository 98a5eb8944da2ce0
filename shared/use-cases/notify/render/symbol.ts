import type { Notification } from '#shared/use-cases/notify/render/notification.ts';

const SYMBOLS = { GOOD: '✅', WARNING: '⚠️', BAD: '❌', NEUTRAL: 'ℹ️' } as const satisfies Record<
  Notification['tone'],
  string
>;

/** The title with a symbol, by which a message is recognized in a busy channel. */
export function withSymbol({ tone, title }: Notification): string {
  return `${SYMBOLS[tone]} ${title}`;
}
