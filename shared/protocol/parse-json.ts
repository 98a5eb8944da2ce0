/** Parses JSON; returns undefined if the text is invalid, which fails every schema. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
