/**
 * The content that is sent to a channel, before it is written in the markup of its kind. All texts are plain, and
 * bounded.
 */
export type Notification = {
  /** Derived from the job, its state and attempt, and the channel: the same in every delivery. */
  readonly notificationId: string;
  readonly tone: 'GOOD' | 'WARNING' | 'BAD' | 'NEUTRAL';
  /** One line: the job and its state. */
  readonly title: string;
  readonly facts: readonly { readonly label: string; readonly value: string }[];
  readonly paragraphs: readonly string[];
  readonly link: { readonly label: string; readonly url: string } | null;
  /** The event of the signed webhook: its type (`job.failed`), and its subject. */
  readonly event: { readonly type: string; readonly data: object };
};

const TITLE_CHARACTERS_MAX = 150;
const VALUE_CHARACTERS_MAX = 300;
const PARAGRAPH_CHARACTERS_MAX = 1_000;

/**
 * All paragraphs together: with the facts, and 4 bytes for an escaped character, a message fits into the smallest
 * limits of the services (Teams: 28 KB; Google Chat: 32,000 bytes).
 */
const PARAGRAPHS_CHARACTERS_MAX = 3_500;

/** The parts of foreign texts that are no characters of a line: control, format, unpaired. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]+/gu;

/**
 * The text as one line of at most `charactersMax` characters. Control characters, which would be commands for a
 * terminal or a mail server, and invisible ones, which reverse the direction of the text, become spaces.
 */
export function toLine(text: string, charactersMax: number): string {
  // Bounded first: the text may have megabytes.
  const line = text
    .slice(0, charactersMax * 4)
    .replaceAll(UNPRINTABLE, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  // Services count UTF-16 units or characters; half a character must not remain at the end.
  const cut = line.slice(0, charactersMax - 1).replace(/[\ud800-\udbff]$/, '');
  return line.length <= charactersMax ? line : `${cut}…`;
}

/** A title as one line. */
export function toTitle(text: string): string {
  return toLine(text, TITLE_CHARACTERS_MAX);
}

/** The value of a fact as one line. */
export function toValue(text: string): string {
  return toLine(text, VALUE_CHARACTERS_MAX);
}

/** A paragraph as one line, which the channel wraps. */
export function toParagraph(text: string): string {
  return toLine(text, PARAGRAPH_CHARACTERS_MAX);
}

/** Paragraphs without empty ones, which Slack rejects; what exceeds the limit of all is cut. */
export function toParagraphs(texts: readonly string[]): readonly string[] {
  let left = PARAGRAPHS_CHARACTERS_MAX;
  return texts.flatMap((text) => {
    const paragraph = left === 0 ? '' : toLine(text, Math.min(PARAGRAPH_CHARACTERS_MAX, left));
    left -= paragraph.length;
    return paragraph === '' ? [] : [paragraph];
  });
}
