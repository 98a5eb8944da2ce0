import {
  type Cursor,
  closeParenthesis,
  compileSyntax,
  describe,
  invalidFilter,
  next,
  type Predicate,
  readTerm,
  skip,
} from '#infra/embedded/http/filter-syntax.ts';

/** An entry as Cloud Logging stores it (API docs, LogEntry). */
export type LogEntry = Readonly<Record<string, unknown>>;

const SEVERITIES = ['DEFAULT', 'DEBUG', 'INFO', 'NOTICE', 'WARNING', 'ERROR', 'CRITICAL', 'ALERT', 'EMERGENCY'];

const OPERATORS = ['=', '>', '>=', ':', '=~'];
const WORD = /^[\w.-]+$/;

/**
 * Compiles a query in the logging query language, as far as Terraform and the runbook use it: comparisons with `=`, `>`,
 * `>=`, `:` (contains) and `=~` (RE2, unanchored), lists of values, quoted text in any field, and NOT. Strings are
 * compared without case, and a comparison with a missing field is false (docs, "Logging query language"). Throws for
 * everything else. The embedded cloud's lists compare as Compute Engine and gcloud do, and limit what a client can ask
 * (list-filter.ts).
 */
export function compileLoggingQuery(query: string): Predicate {
  return compileSyntax(query, readOperand);
}

function readOperand(cursor: Cursor): Predicate {
  if (skip(cursor, 'WORD', 'NOT')) {
    const negated = readTerm(cursor, readOperand);
    return (entry) => !negated(entry);
  }
  const token = next(cursor);
  if (token?.kind === 'QUOTED') {
    return (entry) => textsIn(entry).some((text) => contains(text, token.text));
  }
  const operator = next(cursor);
  const isOperator = operator?.kind === 'OPERATOR' && OPERATORS.includes(operator.text);
  if (token?.kind !== 'WORD' || !WORD.test(token.text) || !isOperator) {
    throw invalidFilter(`Expected a comparison at ${describe(token)}.`);
  }
  const matches = readValues(cursor).map((value) => matcherOf(token.text, operator.text, value));
  return (entry) => valuesAt(entry, token.text.split('.')).some((found) => matches.some((match) => match(found)));
}

/** One value, or several in parentheses and joined by OR. */
function readValues(cursor: Cursor): readonly string[] {
  const isList = skip(cursor, 'PARENTHESIS', '(');
  const values = [];
  do {
    const value = next(cursor);
    if (value?.kind !== 'QUOTED' && (value?.kind !== 'WORD' || !WORD.test(value.text))) {
      throw invalidFilter(`A value is missing before ${describe(value)}.`);
    }
    values.push(value.text);
  } while (isList && skip(cursor, 'WORD', 'OR'));
  if (isList) {
    closeParenthesis(cursor);
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
