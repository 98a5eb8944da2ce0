/** Escapes HTML in text, and Slack's control characters (docs, "Formatting text for app surfaces", "Escaping text"). */
export function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
