import type { Notification } from '#shared/use-cases/notify/render/notification.ts';

/** The body of an e-mail: plain text, in which nothing is markup. */
export function renderPlainText({ title, facts, paragraphs, link }: Notification): string {
  const width = Math.max(0, ...facts.map(({ label }) => label.length));
  return [
    title,
    facts.map(({ label, value }) => `${`${label}:`.padEnd(width + 2)}${value}`).join('\n'),
    ...paragraphs,
    link === null ? '' : `${link.label}: ${encodeURI(link.url)}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
    .concat('\n');
}
