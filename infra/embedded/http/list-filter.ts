import { HTTPException } from 'hono/http-exception';

export type Resource = Readonly<Record<string, unknown>>;
export type Predicate = (resource: Resource) => boolean;

const CHARACTERS_MAX = 2_048;
const DEPTH_MAX = 16;

/**
 * Node's regular expressions can take exponential time, Google's (RE2) cannot: only those cheap in both are accepted.
 */
const QUANTIFIERS_COUNT_MAX = 2;
const MATCHED_CHARACTERS_MAX = 128;

const TOKEN = /\s*(?:(\(|\))|(!=|<=|>=|=~|=|<|>|:)|"((?:[^"\\]|\\.)*)"|([^\s()"=!<>:]+))/y;

type Token = { readonly kind: 'PARENTHESIS' | 'OPERATOR' | 'QUOTED' | 'WORD'; readonly text: string };

type Cursor = { readonly tokens: readonly Token[]; position: number; depth: number };

/**
 * Compiles the `filter` parameter of list methods, as far as Dropforge and gcloud send it: `field operator value` with
 * `=`, `>`, Cloud Logging's `=~` and gcloud's `eq` and `ne` with a regular expression; terms may be parenthesized and
 * are joined by AND, OR or juxtaposition, which is AND. OR binds tighter than AND (AIP-160). Nested fields are
 * separated by dots. Throws an HTTPException with status 400 for everything else.
 */
export function compileFilter(filter: string | undefined): Predicate {
  if (filter === undefined || filter.trim() === '') {
    return () => true;
  }
  if (filter.length > CHARACTERS_MAX) {
    throw invalidFilter(`It has ${filter.length} characters; at most ${CHARACTERS_MAX} are allowed.`);
  }
  const cursor = { tokens: tokensOf(filter), position: 0, depth: 0 };
  const predicate = readConjunction(cursor);
  if (cursor.position < cursor.tokens.length) {
    throw invalidFilter(`Unexpected ${describe(peek(cursor))}.`);
  }
  return predicate;
}

function tokensOf(filter: string): readonly Token[] {
  const pattern = new RegExp(TOKEN);
  const tokens: Token[] = [];
  for (const text = filter.trimEnd(); pattern.lastIndex < text.length; ) {
    const begin = pattern.lastIndex;
    const [found, parenthesis, operator, quoted, word] = pattern.exec(text) ?? [];
    if (found === undefined) {
      throw invalidFilter(`It cannot be parsed from '${text.slice(begin, begin + 20)}' on.`);
    }
    if (parenthesis !== undefined) {
      tokens.push({ kind: 'PARENTHESIS', text: parenthesis });
    } else if (operator !== undefined) {
      tokens.push({ kind: 'OPERATOR', text: operator });
    } else if (quoted !== undefined) {
      tokens.push({ kind: 'QUOTED', text: quoted.replaceAll(/\\(["\\])/g, '$1') });
    } else {
      tokens.push({ kind: 'WORD', text: String(word) });
    }
  }
  return tokens;
}

function readConjunction(cursor: Cursor): Predicate {
  const parts = [readDisjunction(cursor)];
  while (cursor.position < cursor.tokens.length && !isNext(cursor, 'PARENTHESIS', ')')) {
    skip(cursor, 'WORD', 'AND');
    parts.push(readDisjunction(cursor));
  }
  return (resource) => parts.every((part) => part(resource));
}

function readDisjunction(cursor: Cursor): Predicate {
  const parts = [readTerm(cursor)];
  while (skip(cursor, 'WORD', 'OR')) {
    parts.push(readTerm(cursor));
  }
  return (resource) => parts.some((part) => part(resource));
}

function readTerm(cursor: Cursor): Predicate {
  if (!skip(cursor, 'PARENTHESIS', '(')) {
    return readComparison(cursor);
  }
  cursor.depth += 1;
  if (cursor.depth > DEPTH_MAX) {
    throw invalidFilter(`Its parentheses are nested deeper than ${DEPTH_MAX}.`);
  }
  const predicate = readConjunction(cursor);
  if (!skip(cursor, 'PARENTHESIS', ')')) {
    throw invalidFilter(`A closing parenthesis is missing before ${describe(peek(cursor))}.`);
  }
  cursor.depth -= 1;
  return predicate;
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

function peek({ tokens, position }: Cursor): Token | undefined {
  return tokens[position];
}

function next(cursor: Cursor): Token | undefined {
  const token = peek(cursor);
  cursor.position += 1;
  return token;
}

function isNext(cursor: Cursor, kind: Token['kind'], text: string): boolean {
  const token = peek(cursor);
  return token?.kind === kind && token.text === text;
}

function skip(cursor: Cursor, kind: Token['kind'], text: string): boolean {
  const isFound = isNext(cursor, kind, text);
  cursor.position += isFound ? 1 : 0;
  return isFound;
}

function describe(token: Token | undefined): string {
  return token === undefined ? 'the end' : `'${token.text}'`;
}

function invalidFilter(reason: string) {
  return new HTTPException(400, { message: `Invalid value for field 'filter': ${reason}` });
}
