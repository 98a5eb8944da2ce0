import { describe, expect, it } from 'vitest';
import { findLines, readRepository } from './repository-files.ts';

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
  [/\bpatien(ce|tly)\b/i, 'retry policy'],
  [/\bannouncements?\b/i, 'job update'],
  [/\bjudge[sd]?\b/i, 'validate, classify or evaluate'],
  [/\bwatcher\b/i, 'reconciler'],
];

/** Where the words are quoted (this list), or where other people wrote the text. */
const OTHERS = /^(test\/repository\/language\.test\.ts|test\/fixtures\/|test\/corpus\/|LICENSE|package-lock\.json)/;

const texts = readRepository().filter(({ path }) => /\.(ts|js|py|md|tf|hcl|sh|json)$/.test(path) && !OTHERS.test(path));

describe('the language of the field', () => {
  it('is looked for in code of every kind', () => {
    const kinds = new Set(texts.map(({ path }) => path.replace(/^.*\./, '')));
    expect([...kinds].sort()).toEqual(['hcl', 'js', 'json', 'md', 'py', 'sh', 'tf', 'ts']);
  });

  it.each(WORDS)('%s gives way to: %s', (words) => {
    expect(texts.flatMap((file) => findLines(file, words))).toEqual([]);
  });
});
