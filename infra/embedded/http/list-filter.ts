import {
  type Cursor,
  compileSyntax,
  describe,
  invalidFilter,
  next,
  type Predicate,
  type Resource,
  type Token,
} from '#infra/embedded/http/filter-syntax.ts';

const CHARACTERS_MAX = 2_048;

/**
 * Node's regular expressions can take exponential time, Google's (RE2) cannot: only those cheap in both are accepted.
 */
const QUANTIFIERS_COUNT_MAX = 2;
const MATCHED_CHARACTERS_MAX = 128;

/**
 * Compiles the `filter` parameter of list methods, as far as Dropforge and gcloud send it: `field operator value` with
 * `=`, `>`, Cloud Logging's `=~` and gcloud's `eq` and `ne` with a regular expression. Nested fields are separated by
 * dots. Throws an HTTPException with status 400 for everything else.
 */
export function compileFilter(filter: string | undefined): Predicate {
  if (filter === undefined || filter.trim() === '') {
    return () => true;
  }
  if (filter.length > CHARACTERS_MAX) {
    throw invalidFilter(`It has ${filter.length} characters; at most ${CHARACTERS_MAX} are allowed.`);
  }
  return compileSyntax(filter, readComparison);
}

function readComparison(cursor: Cursor): Predicate {
  const [field, operator, value] = [next(cursor), next(cursor), next(cursor)];
  const isOperator = operator?.kind === 'OPERATOR' || operator?.text === 'eq' || operator?.text === 'ne';
  if (field?.kind !== 'WORD' || !/^[A-Za-z][\w-]*(\.[\w-]+)*$/.test(field.text) || !isOperator) {
    throw invalidFilter(`Expected 'field operator value' at ${describe(field)}.`);
  }
  if (value === undefined || (value.kind !== 'QUOTED' && value.kind !== 'WORD')) {
    throw invalidFilter(`A value is missing after ${field.text} ${operator.text}.`);
  }
  const test = testOf(operator.text, value);
  return (resource) => test(valueAt(resource, field.text));
}

function testOf(operator: string, value: Token): (found: string | undefined) => boolean {
  const { text } = value;
  if (operator === '=~') {
    if (!text.startsWith('^') || !text.endsWith('$')) {
      throw invalidFilter(`The regular expression ${text} is supported only with ^ at its start and $ at its end.`);
    }
    return matcherOf(text.slice(1, -1));
  }
  if (operator === 'eq' || operator === 'ne') {
    const isMatch = matcherOf(text);
    return (found) => isMatch(found) === (operator === 'eq');
  }
  if (value.kind === 'WORD' && text.includes('*')) {
    throw invalidFilter('A * in a value is not supported. Use eq with a regular expression.');
  }
  if (operator === '>') {
    return (found) => found !== undefined && found > text;
  }
  if (operator !== '=') {
    throw invalidFilter(`The operator ${operator} is not supported by the embedded cloud. Use =, > or eq.`);
  }
  return (found) => found === text;
}

function matcherOf(text: string): (found: string | undefined) => boolean {
  const pattern = compilePattern(text);
  return (found) => found !== undefined && found.length <= MATCHED_CHARACTERS_MAX && pattern.test(found);
}

/** The pattern must match the whole field. */
function compilePattern(text: string): RegExp {
  const quantifiers = text.match(/[*+?{]/g)?.length ?? 0;
  if (quantifiers > QUANTIFIERS_COUNT_MAX || /\)[*+?{]|\(\?|\\[1-9k]/.test(text)) {
    throw invalidFilter(`The regular expression ${text} is too complex for the embedded cloud.`);
  }
  try {
    return new RegExp(`^(?:${text})$`);
  } catch {
    throw invalidFilter(`${text} is not a valid regular expression.`);
  }
}

/** The value at a path of a resource, as text; undefined if it is missing, an object or an array. */
function valueAt(resource: Resource, path: string): string | undefined {
  let value: unknown = resource;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) {
      return undefined;
    }
    value = (value as Resource)[name];
  }
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined;
}
