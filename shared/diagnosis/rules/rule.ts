import type { Label } from '#shared/diagnosis/rules/labels.ts';
import type { CauseCode } from '#shared/domain/cause.ts';

/** Named groups of the pattern that matched. */
export type Groups = Readonly<Record<string, string | undefined>>;

/**
 * One way in which a failure appears in a log. Rules are data: the first one in the order of `RULES` that matches
 * decides, so a rule for the root of a failure comes before the rules for what follows from it.
 */
export type Rule = {
  readonly label: Label;
  /**
   * Any of them. They have no nested quantifiers and no unbounded gap between two parts, so that their time is linear
   * in the text. They may match across lines, because logs wrap: each line end is one space.
   */
  readonly patterns: readonly RegExp[];
  /**
   * `text`: anywhere, the default. `line`: one line at a time without its prefixes, so that `^` is the beginning of the
   * message. `last`: the last line that is not blank. `exception`: the exception that ended the program. `alone`: anywhere,
   * if the program printed no exception.
   */
  readonly scope?: 'text' | 'line' | 'last' | 'exception' | 'alone';
  /** The rule does not apply if this matches the same line. */
  readonly unless?: RegExp;
  /** More specific than the label's; a function receives the named groups. */
  readonly remedy?: string;
  readonly canRetryHelp?: boolean;
  readonly code?: CauseCode;
  /** One sentence on what is missing or wrong, for the message of the cause. */
  readonly explain?: (groups: Groups) => string;
  /** A line that the rule must match, as a program prints it. */
  readonly example: string;
};
