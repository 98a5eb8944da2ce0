import { HTTPException } from 'hono/http-exception';

export type Resource = Readonly<Record<string, unknown>>;
export type Predicate = (resource: Resource) => boolean;

const DEPTH_MAX = 16;

const TOKEN = /\s*(?:(\(|\))|(!=|<=|>=|=~|=|<|>|:)|"((?:[^"\\]|\\.)*)"|([^\s()"=!<>:]+))/y;

export type Token = { readonly kind: 'PARENTHESIS' | 'OPERATOR' | 'QUOTED' | 'WORD'; readonly text: string };

export type Cursor = { readonly tokens: readonly Token[]; position: number; depth: number };

/** Reads what AND and OR join and is not in parentheses, such as a comparison. */
type OperandReader = (cursor: Cursor) => Predicate;

/**
 * Compiles a filter in the syntax that the filter languages of Google's APIs share (AIP-160): operands may be
 * parenthesized and are joined by AND, OR or juxtaposition, which is AND. OR binds tighter than AND. Comparisons and
 * their values are those of a language. Throws an HTTPException with status 400 for everything else.
 */
export function compileSyntax(filter: string, readOperand: OperandReader): Predicate {
  const cursor = { tokens: tokensOf(filter), position: 0, depth: 0 };
  const predicate = readConjunction(cursor, readOperand);
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

function readConjunction(cursor: Cursor, readOperand: OperandReader): Predicate {
  const parts = [readDisjunction(cursor, readOperand)];
  while (cursor.position < cursor.tokens.length && !isNext(cursor, 'PARENTHESIS', ')')) {
    skip(cursor, 'WORD', 'AND');
    parts.push(readDisjunction(cursor, readOperand));
  }
  return (resource) => parts.every((part) => part(resource));
}

function readDisjunction(cursor: Cursor, readOperand: OperandReader): Predicate {
  const parts = [readTerm(cursor, readOperand)];
  while (skip(cursor, 'WORD', 'OR')) {
    parts.push(readTerm(cursor, readOperand));
  }
  return (resource) => parts.some((part) => part(resource));
}

/** Reads an operand, or an expression in parentheses. */
export function readTerm(cursor: Cursor, readOperand: OperandReader): Predicate {
  if (!skip(cursor, 'PARENTHESIS', '(')) {
    return readOperand(cursor);
  }
  cursor.depth += 1;
  if (cursor.depth > DEPTH_MAX) {
    throw invalidFilter(`Its parentheses are nested deeper than ${DEPTH_MAX}.`);
  }
  const predicate = readConjunction(cursor, readOperand);
  closeParenthesis(cursor);
  cursor.depth -= 1;
  return predicate;
}

export function closeParenthesis(cursor: Cursor): void {
  if (!skip(cursor, 'PARENTHESIS', ')')) {
    throw invalidFilter(`A closing parenthesis is missing before ${describe(peek(cursor))}.`);
  }
}

function peek({ tokens, position }: Cursor): Token | undefined {
  return tokens[position];
}

/** Returns the next token and moves behind it. */
export function next(cursor: Cursor): Token | undefined {
  const token = peek(cursor);
  cursor.position += 1;
  return token;
}

function isNext(cursor: Cursor, kind: Token['kind'], text: string): boolean {
  const token = peek(cursor);
  return token?.kind === kind && token.text === text;
}

/** Moves behind the next token if it is this one. Returns whether it is. */
export function skip(cursor: Cursor, kind: Token['kind'], text: string): boolean {
  const isFound = isNext(cursor, kind, text);
  cursor.position += isFound ? 1 : 0;
  return isFound;
}

export function describe(token: Token | undefined): string {
  return token === undefined ? 'the end' : `'${token.text}'`;
}

export function invalidFilter(reason: string): HTTPException {
  return new HTTPException(400, { message: `Invalid value for field 'filter': ${reason}` });
}
