/** The numbers of a release, `3.10.2`; pre-release suffixes are ignored. */
export type Release = readonly number[];

type Clause = { readonly operator: string; readonly release: Release; readonly isPrefix: boolean };

const CLAUSE = /^(~=|===?|!=|<=|>=|<|>)\s*v?(\d{1,9}(?:\.\d{1,9}){0,5})(\.\*)?$/;

/**
 * Whether a release satisfies a version specifier, `>=3.8,<3.11` (PyPA, "Version specifiers"). Null if a clause
 * cannot be parsed, unless another one excludes the release.
 */
export function satisfies(release: Release, specifier: string): boolean | null {
  let isKnown = true;
  for (const text of specifier.split(',').map((part) => part.trim())) {
    const clause = text === '' ? null : readClause(text);
    if (clause !== null && !holds(release, clause)) {
      return false;
    }
    isKnown &&= text === '' || clause !== null;
  }
  return isKnown ? true : null;
}

/** Whether a version specifier excludes a release and all newer ones: `==1.2`, `<2` and `~=1.2.3` are below 2. */
export function isBelow(specifier: string, release: Release): boolean {
  return specifier.split(',').some((text) => {
    const { operator = '', release: bound = [], isPrefix = false } = readClause(text.trim()) ?? {};
    const prefix = operator === '~=' ? bound.slice(0, -1) : bound;
    const order = compareReleases(prefix, isPrefix || operator === '~=' ? release.slice(0, prefix.length) : release);
    return operator === '<' ? order <= 0 : ['==', '===', '~=', '<='].includes(operator) && order < 0;
  });
}

/** Negative if the first is older; `3.10` equals `3.10.0`. */
export function compareReleases(first: Release, second: Release): number {
  for (let index = 0; index < Math.max(first.length, second.length); index += 1) {
    const difference = (first[index] ?? 0) - (second[index] ?? 0);
    if (difference !== 0) {
      return difference;
    }
  }
  return 0;
}

/** Whether a result of `compareReleases` satisfies an operator; null for other operators. */
export function satisfiesOperator(operator: string, order: number): boolean | null {
  switch (operator) {
    case '==':
      return order === 0;
    case '!=':
      return order !== 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
    default:
      return null;
  }
}

function readClause(text: string): Clause | null {
  const [, operator = '', numbers = '', star] = CLAUSE.exec(text) ?? [];
  return operator === '' ? null : { operator, release: numbers.split('.').map(Number), isPrefix: star !== undefined };
}

function holds(release: Release, { operator, release: bound, isPrefix }: Clause): boolean {
  const isSame = isPrefix
    ? bound.every((number, index) => number === (release[index] ?? 0))
    : compareReleases(release, bound) === 0;
  const order = compareReleases(release, bound);
  switch (operator) {
    case '==':
    case '===':
      return isSame;
    case '!=':
      return !isSame;
    case '~=':
      // ~=3.8.1 is >=3.8.1 and ==3.8.*
      return order >= 0 && bound.slice(0, -1).every((number, index) => number === (release[index] ?? 0));
    default:
      return satisfiesOperator(operator, order) === true;
  }
}
