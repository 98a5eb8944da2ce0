import { escapeMarkup } from '#shared/use-cases/notify/render/escape-markup.ts';
import { type Notification, toLine } from '#shared/use-cases/notify/render/notification.ts';
import { withSymbol } from '#shared/use-cases/notify/render/symbol.ts';

/** Limits of a section's fields and of a header's text (docs, "Block Kit"); 3,000 of a section is never reached. */
const FIELDS_COUNT_MAX = 10;
const HEADER_CHARACTERS_MAX = 150;

/**
 * A message for an incoming webhook of Slack (docs, "Block Kit"). Texts are of the type `plain_text`, in which nothing is
 * a mention, a link or markup; `text`, which notifications show, and the link are escaped.
 */
export function renderSlack(notification: Notification): object {
  const { facts, paragraphs, link } = notification;
  const title = withSymbol(notification);
  const plain = (text: string) => ({ type: 'plain_text', text, emoji: false });
  return {
    text: escapeMarkup(title),
    mrkdwn: false,
    unfurl_links: false,
    blocks: [
      { type: 'header', text: plain(toLine(title, HEADER_CHARACTERS_MAX)) },
      ...(facts.length === 0
        ? []
        : [
            {
              type: 'section',
              fields: facts.slice(0, FIELDS_COUNT_MAX).map(({ label, value }) => plain(`${label}: ${value}`)),
            },
          ]),
      ...paragraphs.map((paragraph) => ({ type: 'section', text: plain(paragraph) })),
      ...(link === null
        ? []
        : [
            {
              type: 'context',
              elements: [
                { type: 'mrkdwn', verbatim: true, text: `<${encodeURI(link.url)}|${escapeMarkup(link.label)}>` },
              ],
            },
          ]),
    ],
  };
}
