import { escapeMarkup } from '#shared/use-cases/notify/render/escape-markup.ts';
import type { Notification } from '#shared/use-cases/notify/render/notification.ts';
import { withSymbol } from '#shared/use-cases/notify/render/symbol.ts';

/** A card for a webhook of Google Chat. Its paragraphs are HTML, of which everything is escaped; a card has no mentions. */
export function renderGoogleChat(notification: Notification): object {
  const { facts, paragraphs, link, notificationId } = notification;
  const texts = [...facts.map(({ label, value }) => `${label}: ${value}`), ...paragraphs];
  const button = link && { text: link.label, onClick: { openLink: { url: encodeURI(link.url) } } };
  return {
    cardsV2: [
      {
        cardId: notificationId.slice(0, 64),
        card: {
          header: { title: withSymbol(notification) },
          sections: [
            {
              widgets: [
                ...texts.map((text) => ({ textParagraph: { text: escapeMarkup(text) } })),
                ...(button === null ? [] : [{ buttonList: { buttons: [button] } }]),
              ],
            },
          ],
        },
      },
    ],
  };
}
