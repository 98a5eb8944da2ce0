import type { Command as Parser } from 'commander';
import { COMMANDS } from '#cli/commands.ts';
import { nearestName } from '#shared/text/nearest-name.ts';

const SUGGESTIONS_COUNT_MAX = 3;

/** Arguments that no command has, and the slip of the hand that makes them. */
const SLIPS: readonly (readonly [pattern: RegExp, explain: (arg: string) => string])[] = [
  [/^[–—―]/, (arg) => `'${arg}' begins with a long dash: write --${arg.slice(1)}.`],
  [/^=$/, () => "'=' stands alone: write FLAG=VALUE or FLAG VALUE, such as --limit=3."],
  [/^\\?\s+$/, () => 'An argument is blank: remove the space behind the backslash at the end of a line.'],
];

/** A sentence about an argument that a word processor or a line break has spoiled; undefined if there is none. */
export function explainSlip(args: readonly string[]): string | undefined {
  return args.flatMap((arg) => SLIPS.flatMap(([slip, explain]) => (slip.test(arg) ? explain(arg) : [])))[0];
}

/** Adds what may be meant to a message of Commander. `excess` says where an operand belongs that is one too many. */
export function explainUsage(parser: Parser, text: string, excess = ''): string {
  const [message, kind, given = ''] = /^error: unknown (command|option) '([^'=]*).*'/.exec(text) ?? [];
  if (message === undefined) {
    const [, many] = /^(error: too many arguments .*) but got /.exec(text) ?? [];
    const ids = text.includes("required argument 'JOB'") ? 'For the ids of jobs, run `dropforge jobs list`.\n' : '';
    // Without the operands if there is a hint: one of them may be a secret.
    return many === undefined ? `${text}${ids}` : excess === '' ? text : `${many}. ${excess}\n`;
  }
  const meant = kind === 'command' ? [suggestCommand(pathOf(parser), given) ?? []].flat() : suggestFlags(parser, given);
  const suggestion = `\n(Did you mean ${meant.slice(0, SUGGESTIONS_COUNT_MAX).join(' or ')}?)`;
  const quotes = given.includes(' ') ? '\n(Write a command without quotes.)' : '';
  return `error: unknown ${kind} '${given}'${meant.length > 0 ? suggestion : ''}${quotes}\n`;
}

/** Returns the full command name of a parser, without the program name. */
export function pathOf(parser: Parser): string {
  return parser.parent === null ? '' : [pathOf(parser.parent), parser.name()].filter(Boolean).join(' ');
}

/** The command or group of a similar name, or whose name has the word, as that of `jobs list` has `list`. */
function suggestCommand(path: string, given: string): string | undefined {
  const word = given.toLowerCase();
  const names = COMMANDS.map(({ name }) => name);
  const inGroup = names.filter((name) => `${name} `.startsWith(path)).map((name) => name.slice(path.length).trim());
  const known = inGroup.flatMap((name) => [name, name.split(' ')[0] ?? '']);
  const hasWord = (name: string) => name.split(' ').includes(word);
  const found = inGroup.find(hasWord) ?? nearestName(word, known) ?? (inGroup.length === 1 ? inGroup[0] : undefined);
  return found === undefined ? names.find(hasWord) : `${path} ${found}`.trim();
}

/** Flags of a similar name, and those that begin or end with it, as `--module-name` with `--module`. */
function suggestFlags(parser: Parser, given: string): readonly string[] {
  const name = given.replace(/^-+/, '').toLowerCase();
  const known = optionsOf(parser).flatMap(({ long, hidden }) => (hidden ? [] : (long?.slice(2) ?? [])));
  const longer = known.filter((one) => one.startsWith(name) || one.endsWith(`-${name}`));
  return [...new Set([nearestName(name, known) ?? [], longer].flat())].map((one) => `--${one}`);
}

/** The options of a command and of the groups that it is in. */
export function optionsOf({ options, parent }: Parser): Parser['options'] {
  return parent === null ? options : [...options, ...optionsOf(parent)];
}
