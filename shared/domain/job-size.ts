/**
 * Limit on a stored job's JSON. A Firestore document has at most 1 MiB including field names and queried fields (docs,
 * "Usage and limits"). It covers the limits below, the instances of 1,000 VMs, and many small fields.
 */
export const JOB_BYTES_MAX = 1_000_000;

/** Limit at submission: spec, packages, source and warnings, which no event changes. */
export const ACCEPTED_BYTES_MAX = 480 << 10;

/** The part of ACCEPTED_BYTES_MAX that warnings may use. */
export const WARNINGS_BYTES_MAX = 64 << 10;

/** Limit on one message, which may quote Compute Engine or an agent. */
export const MESSAGE_BYTES_MAX = 4 << 10;

/** Limit on all evidence lines of one cause together. */
export const EVIDENCE_BYTES_MAX = 32 << 10;

/** How many of the newest attempt records keep their evidence. */
export const EVIDENT_RECORDS_MAX = 3;

/** Limit on the message of an older attempt record. */
export const OLD_MESSAGE_BYTES_MAX = 1 << 10;

/** Size of a value as JSON in UTF-8; a control character takes six bytes. */
export function jsonBytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

const ELLIPSIS = '…';

/** The text, truncated with an ellipsis to at most `bytesMax` bytes of JSON. */
export function clip(text: string, bytesMax: number): string {
  const beginning = text.slice(0, bytesMax);
  if (beginning.length === text.length && jsonBytesOf(text) <= bytesMax) {
    return text;
  }
  let bytes = jsonBytesOf(ELLIPSIS);
  let length = 0;
  for (const character of beginning) {
    bytes += jsonBytesOf(character) - jsonBytesOf('');
    if (bytes > bytesMax) {
      break;
    }
    length += character.length;
  }
  return beginning.slice(0, length) + ELLIPSIS;
}

/**
 * The newest lines that fit into `bytesMax` bytes of JSON together. If the newest alone is too long, it is truncated.
 */
export function clipLines(lines: readonly string[], bytesMax: number): readonly string[] {
  const kept: string[] = [];
  let left = bytesMax;
  for (const line of [...lines].reverse()) {
    const shown = kept.length === 0 ? clip(line, left - 1) : line;
    left -= jsonBytesOf(shown) + 1;
    if (left < 0) {
      break;
    }
    kept.unshift(shown);
  }
  return kept;
}
