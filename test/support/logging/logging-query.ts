/** An entry as Cloud Logging stores it (API docs, LogEntry). */
export type LogEntry = Readonly<Record<string, unknown>>;
export type LogPredicate = (entry: LogEntry) => boolean;

const SEVERITIES = ['DEFAULT', 'DEBUG', 'INFO', 'NOTICE', 'WARNING', 'ERROR', 'CRITICAL', 'ALERT', 'EMERGENCY'];

const TOKEN = /\s*(?:([()])|(>=|=~|=|>|:)|"((?:[^"\\]|\\.)*)"|([\w.-]+))/y;

type Token = { readonly kind: 'PARENTHESIS' | 'OPERATOR' | 'QUOTED' | 'WORD'; readonly text: string };
type Cursor = { readonly tokens: readonly Token[]; position: number };

/**
 * Compiles a query in the logging query language, as far as Terraform and the runbook use it: comparisons with `=`, `>`,
 * `>=`, `:` (contains) and `=~` (RE2, unanchored), lists of values, quoted text in any field, NOT, OR, AND and
 * juxtaposition. OR binds tighter than AND, strings are compared without case, and a comparison with a missing field is
 * false (docs, "Logging query language"). Throws for everything else. The filter of the embedded cloud's lists is another
 * language: gcloud's for Compute Engine, in which `:` and case mean something else, and with limits on what it accepts.
 */
export function compileLoggingQuery(query: string): LogPredicate {
  const cursor = { tokens: tokensOf(query), position: 0 };
  const predicate = readConjunction(cursor);
  if (cursor.position < cursor.tokens.length) {
    throw invalid(query, `Unexpected '${peek(cursor)?.text}'.`);
  }
  return predicate;
}

function tokensOf(query: string): readonly Token[] {
  const pattern = new RegExp(TOKEN);
  const tokens: Token[] = [];
  const text = query.trimEnd();
  while (pattern.lastIndex < text.length) {
    const begin = pattern.lastIndex;
    const [found, parenthesis, operator, quoted, word] = pattern.exec(text) ?? [];
    if (found === undefined) {
      throw invalid(query, `It cannot be parsed from '${text.slice(begin, begin + 20)}' on.`);
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

function readConjunction(cursor: Cursor): LogPredicate {
  const parts = [readDisjunction(cursor)];
  while (cursor.position < cursor.tokens.length && peek(cursor)?.text !== ')') {
    skip(cursor, 'AND');
    parts.push(readDisjunction(cursor));
  }
  return (entry) => parts.every((part) => part(entry));
}

function readDisjunction(cursor: Cursor): LogPredicate {
  const parts = [readTerm(cursor)];
  while (skip(cursor, 'OR')) {
    parts.push(readTerm(cursor));
  }
  return (entry) => parts.some((part) => part(entry));
}

function readTerm(cursor: Cursor): LogPredicate {
  if (skip(cursor, 'NOT')) {
    const negated = readTerm(cursor);
    return (entry) => !negated(entry);
  }
  if (skip(cursor, '(')) {
    const inner = readConjunction(cursor);
    expectToken(cursor, ')');
    return inner;
  }
  const token = next(cursor);
  if (token?.kind === 'QUOTED') {
    return (entry) => textsIn(entry).some((text) => contains(text, token.text));
  }
  const operator = next(cursor);
  if (token?.kind !== 'WORD' || operator?.kind !== 'OPERATOR') {
    throw new Error(`'${token?.text} ${operator?.text}' is no comparison.`);
  }
  const matches = readValues(cursor).map((value) => matcherOf(token.text, operator.text, value));
  return (entry) => valuesAt(entry, token.text.split('.')).some((found) => matches.some((match) => match(found)));
}

/** One value, or several in parentheses and joined by OR. */
function readValues(cursor: Cursor): readonly string[] {
  const isList = skip(cursor, '(');
  const values = [];
  do {
    const value = next(cursor);
    if (value?.kind !== 'QUOTED' && value?.kind !== 'WORD') {
      throw new Error(`A value is missing before '${value?.text}'.`);
    }
    values.push(value.text);
  } while (isList && skip(cursor, 'OR'));
  if (isList) {
    expectToken(cursor, ')');
  }
  return values;
}

function matcherOf(field: string, operator: string, value: string): (found: unknown) => boolean {
  if (operator === '=~') {
    const pattern = new RegExp(value);
    return (found) => typeof found === 'string' && pattern.test(found);
  }
  if (operator === ':') {
    return (found) => contains(String(found), value);
  }
  const compare = (found: unknown) => {
    if (field === 'severity') {
      return SEVERITIES.indexOf(String(found)) - SEVERITIES.indexOf(value);
    }
    return typeof found === 'number' ? found - Number(value) : compareTexts(String(found), value);
  };
  const isMatch = { '=': (order: number) => order === 0, '>': (order: number) => order > 0 };
  const test = operator === '=' || operator === '>' ? isMatch[operator] : (order: number) => order >= 0;
  return (found) => test(compare(found));
}

function compareTexts(found: string, value: string): number {
  const [one, other] = [found.toLowerCase(), value.toLowerCase()];
  return one < other ? -1 : Number(one > other);
}

function contains(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}

/** The scalars at a path, in objects and in the elements of arrays; none if the field is missing or null. */
function valuesAt(value: unknown, path: readonly string[]): readonly unknown[] {
  if (Array.isArray(value)) {
    return value.flatMap((item) => valuesAt(item, path));
  }
  const [name, ...rest] = path;
  if (name === undefined) {
    return ['string', 'number', 'boolean'].includes(typeof value) ? [value] : [];
  }
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? valuesAt((value as LogEntry)[name], rest)
    : [];
}

function textsIn(value: unknown): readonly string[] {
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [String(value)];
}

function peek({ tokens, position }: Cursor): Token | undefined {
  return tokens[position];
}

function next(cursor: Cursor): Token | undefined {
  const token = peek(cursor);
  cursor.position += 1;
  return token;
}

function skip(cursor: Cursor, text: string): boolean {
  const token = peek(cursor);
  const isFound = token?.text === text && token.kind !== 'QUOTED';
  cursor.position += isFound ? 1 : 0;
  return isFound;
}

function expectToken(cursor: Cursor, text: string): void {
  if (!skip(cursor, text)) {
    throw new Error(`'${text}' is missing before '${peek(cursor)?.text ?? 'the end'}'.`);
  }
}

function invalid(query: string, reason: string): Error {
  return new Error(`The query ${query} is not supported: ${reason}`);
}
