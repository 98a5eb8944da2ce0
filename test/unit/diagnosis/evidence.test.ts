import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { matchingPatterns } from '#shared/diagnosis/find-root.ts';
import { RULES } from '#shared/diagnosis/rules/all-rules.ts';
import type { Rule } from '#shared/diagnosis/rules/rule.ts';
import { readLabeledLogs } from '../../diagnosis/labeled-logs.ts';

const DATA = new URL('../../diagnosis/data/', import.meta.url);
const LOGS = readdirSync(DATA).flatMap((file) => readLabeledLogs(new URL(file, DATA)).rows);

/** The patterns of a rule that match neither its example nor a log with its label. */
function patternsWithoutEvidence(rule: Rule): readonly string[] {
  const texts = [rule.example, ...LOGS.filter(({ label }) => label === rule.label).map(({ text }) => text)];
  const matching = new Set(texts.flatMap((text) => matchingPatterns(rule, text.split('\n'))));
  return rule.patterns.filter((pattern) => !matching.has(pattern)).map(String);
}

describe('every pattern of a rule', () => {
  it.each(RULES.map((rule) => [rule.label, rule.example, rule] as const))(
    'for %s matches an excerpt with that label, as does its example: %s',
    (_, __, rule) => {
      expect(patternsWithoutEvidence(rule)).toEqual([]);
    },
  );

  it('would be found if it had no evidence', () => {
    const [rule] = RULES;
    expect(rule && patternsWithoutEvidence({ ...rule, patterns: [...rule.patterns, /no log says this/] })).toEqual([
      '/no log says this/',
    ]);
  });
});
