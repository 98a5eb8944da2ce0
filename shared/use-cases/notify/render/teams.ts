import type { Notification } from '#shared/use-cases/notify/render/notification.ts';
import { withSymbol } from '#shared/use-cases/notify/render/symbol.ts';

const COLORS = { GOOD: 'Good', WARNING: 'Warning', BAD: 'Attention', NEUTRAL: 'Default' } as const;

/**
 * An Adaptive Card for a Workflows webhook of Microsoft Teams ("When a Teams webhook request is received"); the
 * connectors of Office 365 are retired. A TextRun has no markup, unlike a TextBlock or a FactSet, which have Markdown.
 */
export function renderTeams(notification: Notification): object {
  const { facts, paragraphs, link, tone } = notification;
  const run = (text: string, style: object = {}) => ({ type: 'TextRun', text, ...style });
  const block = (...inlines: readonly object[]) => ({ type: 'RichTextBlock', inlines });
  const card = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      block(run(withSymbol(notification), { size: 'Large', weight: 'Bolder', color: COLORS[tone] })),
      ...facts.map(({ label, value }) => block(run(`${label}: `, { isSubtle: true }), run(value))),
      ...paragraphs.map((paragraph) => block(run(paragraph))),
    ],
    ...(link !== null && { actions: [{ type: 'Action.OpenUrl', title: link.label, url: encodeURI(link.url) }] }),
  };
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card }],
  };
}
