/** The first texts, separated by commas, and how many more there are: `a, b and 3 more`. */
export function listFirst(texts: readonly string[], countMax: number): string {
  const more = texts.length > countMax ? ` and ${texts.length - countMax} more` : '';
  return `${texts.slice(0, countMax).join(', ')}${more}`;
}
