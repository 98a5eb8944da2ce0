import { describe, expect, it } from 'vitest';
import { type RepositoryFile, readRepository } from './repository-files.ts';

/**
 * Everyday words that stood for terms of the field, with the term to use: a reader who searches for the term must find
 * it. The list holds for names, comments, messages, tests and documentation. docs/glossary.md has the terms.
 */
const WORDS: readonly (readonly [words: RegExp, use: string])[] = [
  [/\bdoors?\b/i, 'server, endpoint or emulator'],
  [/\bmend(s|ed|ing)?\b/i, 'fix, repair or recover'],
  [/\b(nobody|somebody|anybody|whoever|whomever)\b/i, 'the component or the role'],
  [/\b(anew|for ever)\b/i, 'again or from scratch; indefinitely'],
  [/\bdeaf\b/i, 'unreachable'],
  [/\blook(s|ed|ing)? after\b/i, 'check, handle or reconcile'],
  [/\b(gave|given) up\b/i, 'exhausted, abandoned or timed out'],
  [/\b(debts?|owe[sd]?|owing)\b/i, 'outbox entry'],
  [
    /(?<!\bthere )\bis no (valid|legal|duration|number|name|path|YAML|JSON|job|package|URL|URI|integer|list|mapping)\b/i,
    'is not a',
  ],
  [/\bwhere (there|it) is none\b/i, 'undefined or null if …'],
  [/\bsmall letters?\b/i, 'lowercase letters'],
  [/\b(borne|bears)\b/i, 'tolerate or handle'],
  [/\b(tells (of|about|it|its|what|users?)|told (of|by|that|why|at|what|anew))\b/i, 'report, send, name or state'],
  [/\b(hears|heard)\b/i, 'receive; heartbeat received'],
  [/\bladders?\b/i, 'zone fallback'],
  [/\bblame[sd]?\b/i, 'penalty'],
  [/\bdead man\b(?!'s switch)/i, 'control-plane timeout'],
  [/\baccidents?\b/i, 'fault'],
  [/\bpatien(ce|t|tly)\b/i, 'retry policy'],
  [/\bannouncements?\b/i, 'job update'],
  [/\bjudge[sd]?\b/i, 'validate, classify or evaluate'],
  [/\bwatcher\b/i, 'reconciler'],
];

/** Names that are stored or sent, which stay for records, databases and VMs of earlier versions. */
const STORED_NAMES: readonly (readonly [name: string, reason: string])[] = [
  ['heardAt', 'field of stored replicas, and of the index of Firestore'],
  ['heardTime', 'field of replicas in the API and in reports'],
  ['replicas_heard', 'index of the embedded cloud’s database'],
  ['owed_effects', 'table of the embedded cloud’s database'],
  ['owedEffects', 'collection of Firestore'],
  ['owedAt', 'field of that collection and of its indexes'],
  ['deadManSeconds', 'former setting of the embedded cloud, whose current name is the answer'],
  ['givenUpInRow', 'field of stored jobs of the version before'],
];

/** Where the words are quoted (this list), or where other people wrote the text. */
const OTHERS = /^(test\/repository\/language\.test\.ts|test\/fixtures\/|test\/corpus\/|LICENSE|package-lock\.json)/;

const texts = readRepository().filter(
  ({ path }) => /\.(tsx?|js|css|html|py|md|tf|hcl|sh|json|yml)$/.test(path) && !OTHERS.test(path),
);
const storedNames = new RegExp(`\\b(${STORED_NAMES.map(([name]) => name).join('|')})\\b`, 'g');
const lines = texts.flatMap(splitLines);

/** The lines without stored names, and with identifiers split into their words. */
function splitLines({ path, text }: RepositoryFile) {
  return text.split('\n').map((line, index) => {
    const words = splitIdentifiers(line.replace(storedNames, ''));
    return { words, shown: `${path}:${index + 1}: ${line.trim()}` };
  });
}

/** The first line of each comment and docstring. */
function listOpenings({ path, text }: RepositoryFile): readonly string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.flatMap((line, index) => {
    const [mark = ''] = /^(\/\*\*|\*(?=\s)|\/\/|#|""")/.exec(line) ?? [];
    const before = lines[index - 1] ?? '';
    const isOpening = mark === '*' ? before === '/**' : mark.length === 3 || !before.startsWith(mark);
    return mark !== '' && isOpening ? [`${path}:${index + 1}: ${line}`] : [];
  });
}

/** `isHeardAt`, `is_heard_at` and `IS_HEARD_AT` become `is Heard At`, `is heard at` and `IS HEARD AT`. */
function splitIdentifiers(line: string): string {
  return line.replaceAll('_', ' ').replace(/(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-zA-Z])(?=\d)/g, ' ');
}

describe('the language of the field', () => {
  it('is looked for in code of every kind', () => {
    const kinds = new Set(texts.map(({ path }) => path.replace(/^.*\./, '')));
    expect([...kinds].sort()).toEqual(['css', 'hcl', 'html', 'js', 'json', 'md', 'py', 'sh', 'tf', 'ts', 'tsx', 'yml']);
  });

  it('is looked for within identifiers', () => {
    const identifiers = ['isHeardAt', 'is_heard_at', 'IS_HEARD_AT', 'HTTPDoor2'];
    const words = ['is Heard At', 'is heard at', 'IS HEARD AT', 'HTTP Door 2'];
    expect(identifiers.map(splitIdentifiers)).toEqual(words);
  });

  it('has comments that open with a subject or a name, not with its attribute', () => {
    const openings = texts.filter(({ path }) => /\.(tsx?|js|css|py|tf|sh)$/.test(path)).flatMap(listOpenings);
    expect(openings.length).toBeGreaterThan(5_000);
    expect(
      openings.filter((line) => /^\S+ (\/\*\*|\*|\/\/|#|""")\s*(Of|As|What|With some of them)\b/.test(line)),
    ).toEqual([]);
  });

  it.each(WORDS)('%s gives way to: %s', (pattern) => {
    expect(lines.filter(({ words }) => pattern.test(words)).map(({ shown }) => shown)).toEqual([]);
  });

  it.each(STORED_NAMES)('makes an exception for %s: %s', (name) => {
    expect(texts.some(({ text }) => new RegExp(`\\b${name}\\b`).test(text))).toBe(true);
  });
});
