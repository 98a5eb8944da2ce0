/** Names further apart than this, in letters of the longer one, are not taken for slips of one another. */
const DISTANCE_FRACTION_MAX = 0.34;

/** Longer names are no slips of the pen, and comparing them costs the product of their lengths. */
const NAME_CHARACTERS_MAX = 64;

/** The known name that was probably meant, if one is near: case, `-` and `_` count for nothing. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > NAME_CHARACTERS_MAX) {
    return undefined;
  }
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    const [a, b] = [simplify(name), simplify(candidate)];
    const distance = editDistance(a, b);
    const isNear = distance <= Math.max(a.length, b.length) * DISTANCE_FRACTION_MAX;
    if (isNear && (best === undefined || distance < best.distance)) {
      best = { candidate, distance };
    }
  }
  return best?.candidate;
}

/** A remedy's beginning: `Did you mean "region"? `, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? '' : `Did you mean "${nearest}"? `;
}

function simplify(name: string): string {
  return name.toLowerCase().replaceAll(/[-_\s]/g, '');
}

/** Levenshtein's distance: the fewest letters to insert, drop or change. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [row, letter] of [...a].entries()) {
    const current = [row + 1];
    for (const [column, other] of [...b].entries()) {
      const change = (previous[column] ?? 0) + (letter === other ? 0 : 1);
      current.push(Math.min(change, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous.at(-1) ?? 0;
}
