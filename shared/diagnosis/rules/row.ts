import type { Label } from '#shared/diagnosis/rules/labels.ts';
import type { Rule } from '#shared/diagnosis/rules/rule.ts';

/** A rule with one pattern and a remedy of its own; the program has to change, so that a retry does not help. */
export type Row = Omit<Rule, 'label' | 'patterns'> & {
  readonly label?: Label;
  readonly pattern: RegExp;
  readonly remedy: string;
};

export function toRule({ label = 'user_exception', pattern, ...row }: Row): Rule {
  const code = label === 'import_error' ? ({ code: 'IMPORT_FAILED' } as const) : {};
  return { label, patterns: [pattern], canRetryHelp: false, ...code, ...row };
}
