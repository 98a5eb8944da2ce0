/** Largest edit distance to a suggested name, as a fraction of the length of the longer name. */
const DISTANCE_FRACTION_MAX = 0.34;

/** Longer names are unlikely to be typos, and a comparison takes time in the product of both lengths. */
const NAME_CHARACTERS_MAX = 64;

/** The most similar known name; undefined if none is similar enough. Ignores case, `-`, `_` and whitespace. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > NAME_CHARACTERS_MAX) {
    return undefined;
  }
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    const [a, b] = [normalize(name), normalize(candidate)];
    const distance = editDistance(a, b);
    const isNear = distance <= Math.max(a.length, b.length) * DISTANCE_FRACTION_MAX;
    if (isNear && (best === undefined || distance < best.distance)) {
      best = { candidate, distance };
    }
  }
  return best?.candidate;
}

/** The start of a remedy, `Did you mean "region"? `; empty if no known name is similar. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? '' : `Did you mean "${nearest}"? `;
}

function normalize(name: string): string {
  return name.toLowerCase().replaceAll(/[-_\s]/g, '');
}

/** Levenshtein distance: the smallest number of insertions, deletions and substitutions. */
export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [row, letter] of [...a].entries()) {
    const current = [row + 1];
    for (const [column, other] of [...b].entries()) {
      const substitution = (previous[column] ?? 0) + (letter === other ? 0 : 1);
      current.push(Math.min(substitution, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous.at(-1) ?? 0;
}
