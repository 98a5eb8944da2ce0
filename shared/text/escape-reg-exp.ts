/** Returns the source of a regular expression that matches the text itself. `RegExp.escape` requires Node.js 24. */
export function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
