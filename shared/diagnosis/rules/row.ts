import type { Label } from '#shared/diagnosis/rules/labels.ts';
import type { Groups, Rule } from '#shared/diagnosis/rules/rule.ts';
import type { CauseCode } from '#shared/domain/cause.ts';

/** A rule with one pattern and a remedy of its own; the program has to change, so that a retry does not help. */
export type Row = {
  readonly label?: Label;
  readonly pattern: RegExp;
  readonly scope?: Rule['scope'];
  readonly explain?: (groups: Groups) => string;
  readonly remedy: string;
  readonly canRetryHelp?: boolean;
  readonly example: string;
  readonly code?: CauseCode;
};

export function toRule({ label = 'user_exception', pattern, scope = 'exception', ...row }: Row): Rule {
  return {
    label,
    patterns: [pattern],
    scope,
    canRetryHelp: false,
    ...(label === 'import_error' && { code: 'IMPORT_FAILED' }),
    ...row,
  };
}
