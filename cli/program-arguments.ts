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

/** Starts a program in a shell, where `dropforge run` does. */
const INTERPRETER = /^python[\d.]*$/;

/** An operand by its look: a folder, or a file that `dropforge run` takes. */
const PATH = /^\.{1,2}(?:\/|$)|\/$|\.(?:py|ya?ml|json)$/;

/**
 * Says where arguments of the program belong, with the command line that has all words behind `--` that are neither of
 * the command nor one of its `wordsMax` words.
 */
export function moveBehind(
  { args, rest }: { readonly args: readonly string[]; readonly rest: readonly string[] },
  options: readonly Option[],
  wordsMax: number,
): string {
  const { own, others: typed } = splitFlags(args, options);
  const others = typed.filter((word, index) => !(typed[0] === 'run' && index === 1 && INTERPRETER.test(word)));
  const flag = others.findIndex((word) => word.startsWith('-'));
  const end = Math.min(wordsMax, flag === -1 ? others.length : flag);
  const [words, moved] = [others.slice(0, end), others.slice(end)];
  const [value = '', last = '-'] = moved.slice(-2);
  // An operand may follow the arguments: it is not the value of a flag.
  const isOperand = moved.length > 1 && !last.startsWith('-') && (PATH.test(last) || !/^-[^=]*$/.test(value));
  const operand = end < wordsMax && isOperand ? moved.splice(-1) : [];
  const hint = typed.length > others.length ? 'Python is started for you' : 'Arguments of the program follow --';
  return `${hint}: ${formatLine([...words, ...operand, ...own], [...moved, ...rest])}\n`;
}

/** Flags of the command among the arguments of its program; undefined if there are none. */
export function findMisplaced(
  { args, rest }: { readonly args: readonly string[]; readonly rest: readonly string[] },
  options: readonly Option[],
): Misplaced | undefined {
  const { own, others } = splitFlags(rest, options);
  const [first = '', program = ''] = others;
  if (args[0] === 'run' && INTERPRETER.test(first)) {
    const words = args.length > 1 ? args : ['run', program];
    return { names: [first], corrected: formatLine([...words, ...own], others.slice(2)) };
  }
  const names = own.filter((word) => word.startsWith('--')).map((word) => word.replace(/=.*/s, ''));
  return names.length === 0 ? undefined : { names, corrected: formatLine([...args, ...own], others) };
}
