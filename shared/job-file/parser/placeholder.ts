/**
 * `${NAME}`, `$NAME`, `$1`, `{{ name }}`, `{NAME}`, `<your bucket>`, `%NAME%`: placeholders of shells, templates and
 * manuals.
 */
const MARKED_PATTERN =
  /\$\{[^{}]{1,100}\}|\$(?:[A-Za-z_]\w{0,99}|\d)|\{\{[^{}]{1,100}\}\}|\{[A-Za-z_]\w{0,99}\}|<[A-Za-z][^<>]{0,99}>|%[A-Z_]{1,100}%/;

/** Placeholders of Google's documentation: `MACHINE_TYPE`. */
const CAPITALS_PATTERN = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/;

/**
 * The placeholder in a text, if any. Capitals alone count only if they repeat a word of the field's own name, as
 * `REPLICA_COUNT` for `replicaCount`, because enumeration values are capitals too.
 */
export function findPlaceholder(text: string, path: string): string | undefined {
  const marked = MARKED_PATTERN.exec(text)?.[0];
  if (marked !== undefined || !CAPITALS_PATTERN.test(text)) {
    return marked;
  }
  const field =
    path
      .replace(/\[\d+\]$/, '')
      .split('.')
      .at(-1) ?? '';
  const words = new Set(
    field
      .replaceAll(/([A-Z])/g, '_$1')
      .toUpperCase()
      .split(/[_-]+/),
  );
  return text.split('_').some((word) => words.has(word)) ? text : undefined;
}
