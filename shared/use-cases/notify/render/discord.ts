import type { Notification } from '#shared/use-cases/notify/render/notification.ts';
import { withSymbol } from '#shared/use-cases/notify/render/symbol.ts';

const COLORS = { GOOD: 0x2da44e, WARNING: 0xd29922, BAD: 0xcf222e, NEUTRAL: 0x57606a } as const;

/** An embed has at most 6,000 characters in all, and 256 in its title (docs, "Embed Limits"). */
const TITLE_MAX = 256;
const DESCRIPTION_MAX = 2_000;
const FIELD_MAX = 350;
const FIELDS_COUNT_MAX = 10;

/** A message for a webhook of Discord. Nothing in it can mention: `allowed_mentions` has no kind of mention. */
export function renderDiscord(notification: Notification): object {
  const { facts, paragraphs, link, tone } = notification;
  return {
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: escapeDiscord(withSymbol(notification), TITLE_MAX),
        description: escapeDiscord(paragraphs.join('\n\n'), DESCRIPTION_MAX),
        color: COLORS[tone],
        ...(link !== null && { url: encodeURI(link.url) }),
        fields: facts
          .slice(0, FIELDS_COUNT_MAX)
          .map(({ label, value }) => ({ name: label, value: escapeDiscord(value, FIELD_MAX), inline: true })),
      },
    ],
  };
}

/** The text with every character of Discord's Markdown escaped, at most `max` long. */
function escapeDiscord(text: string, max: number): string {
  const escaped = text.replaceAll(/[\\`*_~|>#[\]()<@:-]/g, '\\$&');
  // Neither half of a character, nor an escape of the next one, may remain at the end.
  return escaped.length <= max ? escaped : `${escaped.slice(0, max - 2).replace(/[\ud800-\udbff\\]+$/, '')}…`;
}
