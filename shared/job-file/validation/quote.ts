/** A message is to be read: of a longer text its beginning is enough. */
const CHARACTERS_MAX = 120;

/** A user's text as a message shows it, in quotes. */
export function quote(text: string): string {
  return text.length <= CHARACTERS_MAX ? `"${text}"` : `"${text.slice(0, CHARACTERS_MAX)}…"`;
}
