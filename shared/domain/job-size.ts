/**
 * A stored job never has more bytes of JSON: a document of Firestore has at most 1 MiB (docs, "Usage and limits") with
 * its names and what queries ask for. It is the sum of what follows, of 1,000 VMs, and of much that is small.
 */
export const JOB_BYTES_MAX = 1_000_000;

/** What a job has when it is accepted: spec, packages, source and warnings, which no event changes. */
export const ACCEPTED_BYTES_MAX = 480 << 10;

/** Of these, the warnings. */
export const WARNINGS_BYTES_MAX = 64 << 10;

/** One sentence, which may quote Compute Engine or an agent. */
export const MESSAGE_BYTES_MAX = 4 << 10;

/** The lines of one cause, all together. */
export const EVIDENCE_BYTES_MAX = 32 << 10;

/** The newest records of attempts, which keep their evidence; older ones say what happened and no more. */
export const EVIDENT_RECORDS_MAX = 3;

/** The message of an older record. */
export const OLD_MESSAGE_BYTES_MAX = 1 << 10;

/** The bytes of a value in JSON and UTF-8: a control character has six. */
export function jsonBytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

const CUT_SIGN = '…';

/** The text, or as much of its beginning as has so many bytes of JSON with the sign that it was cut. */
export function clip(text: string, bytesMax: number): string {
  const beginning = text.slice(0, bytesMax);
  if (beginning.length === text.length && jsonBytesOf(text) <= bytesMax) {
    return text;
  }
  let bytes = jsonBytesOf(CUT_SIGN);
  let length = 0;
  for (const character of beginning) {
    bytes += jsonBytesOf(character) - jsonBytesOf('');
    if (bytes > bytesMax) {
      break;
    }
    length += character.length;
  }
  return beginning.slice(0, length) + CUT_SIGN;
}

/** As many of the newest lines as have so many bytes of JSON together; one that is longer by itself is cut. */
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
