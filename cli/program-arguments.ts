import type { Option } from 'commander';
import type { Misplaced } from '#cli/core/command.ts';
import { bareProgramName } from '#cli/core/program-name.ts';
import { quoteForShell } from '#shared/text/quote-for-shell.ts';

/** Flags that mean the same to every program. */
const SHARED_FLAGS: readonly string[] = ['--version'];

/** Splits words into the flags of a command, each with its value, and all others. */
function splitFlags(words: readonly string[], options: readonly Option[]) {
  const [own, others]: [string[], string[]] = [[], []];
  for (let index = 0; index < words.length; index += 1) {
    const [word = '', value = ''] = words.slice(index);
    const name = word.replace(/=.*/s, '');
    const option = options.find(({ long, hidden }) => long === name && !hidden && !SHARED_FLAGS.includes(name));
    const isValueNext = option?.required === true && name === word && index + 1 < words.length;
    (option === undefined ? others : own).push(...(isValueNext ? [word, value] : [word]));
    index += isValueNext ? 1 : 0;
  }
  return { own, others };
}

function formatLine(words: readonly string[], rest: readonly string[]): string {
  const all = [...words, ...(rest.length === 0 ? [] : ['--', ...rest])];
  return [bareProgramName(), ...all.map(quoteForShell)].join(' ');
}

/** The command line with all words behind `--` that are neither of the command nor one of its `wordsMax` words. */
export function moveBehind(
  { args, rest }: { readonly args: readonly string[]; readonly rest: readonly string[] },
  options: readonly Option[],
  wordsMax: number,
): string {
  const { own, others } = splitFlags(args, options);
  const flag = others.findIndex((word) => word.startsWith('-'));
  const end = Math.min(wordsMax, flag === -1 ? others.length : flag);
  return formatLine([...others.slice(0, end), ...own], [...others.slice(end), ...rest]);
}

/** Flags of the command among the arguments of its program; undefined if there are none. */
export function findMisplaced(
  { args, rest }: { readonly args: readonly string[]; readonly rest: readonly string[] },
  options: readonly Option[],
): Misplaced | undefined {
  const { own, others } = splitFlags(rest, options);
  const names = own.filter((word) => word.startsWith('--')).map((word) => word.replace(/=.*/s, ''));
  return names.length === 0 ? undefined : { names, corrected: formatLine([...args, ...own], others) };
}
