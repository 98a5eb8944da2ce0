import { COMMANDS } from '#cli/commands.ts';
import { programName } from '#cli/core/program-name.ts';
import { nearestName } from '#shared/text/nearest-name.ts';
import { quoteForShell } from '#shared/text/quote-for-shell.ts';
import { findReplacements } from '#shared/text/replaced-names.ts';

/** First words of pasted command lines, such as `gcloud beta ai-platform` and `kubectl`. */
const TOOLS: ReadonlySet<string> = new Set(
  'gcloud alpha beta preview ai-platform ml-engine ml ai batch kubectl sky modal app aws sagemaker hyperpod'.split(' '),
);

/** A kind of thing that kubectl has before its name: `job digits`, `job/digits`. */
const KIND = /^(jobs?|pods?|po|pytorchjobs?)(\/|$)/;

type Unknown = {
  /** The command or group that does not have the name; empty for the root. */
  readonly path: string;
  readonly name: string;
  /** The words of the command line before `--`. */
  readonly args: readonly string[];
  /** The flags of the command, with their dashes. */
  readonly known: readonly string[];
};

/** A sentence, and the words that take the place of its braces. */
type Answer = { readonly sentence: string; readonly words: readonly string[] };

/** Says what to type instead of a command or flag of another tool or version; undefined for other names. */
export async function explainUnknown(unknown: Unknown, rest: readonly string[]): Promise<string | undefined> {
  const { path, name, args, known } = unknown;
  const isFlag = name.startsWith('-');
  const index = args.indexOf(name);
  const answer = isFlag ? findFlag(args, index, { command: path, known }) : await findCommand(path, args.slice(index));
  const words = isFlag ? ['dropforge', ...translate(args, { command: path, known })] : (answer?.words ?? []);
  const line = [...words, ...(rest.length === 0 ? [] : ['--', ...rest])].map(quoteForShell).join(' ');
  // Flags before an unknown command, such as --deployment, stay there.
  const before = isFlag ? [] : args.slice(0, index).filter((word) => !path.split(' ').includes(word));
  const program = [programName(), ...before.map(quoteForShell)].join(' ');
  return answer?.sentence
    .replace(/\{(.*?)\}/, (_, placeholder: string) => line || placeholder)
    .replaceAll('`dropforge ', `\`${program} `);
}

async function findCommand(path: string, args: readonly string[]): Promise<Answer | undefined> {
  const typed = args.slice(args.findIndex((word) => !TOOLS.has(word)));
  const isPasted = typed.length < args.length;
  if (isPasted && COMMANDS.some(({ name }) => `${typed.join(' ')} `.startsWith(`${name} `))) {
    return { sentence: 'Use `dropforge {}`.', words: typed };
  }
  const [command = '', ...others] =
    isPasted && COMMANDS.some(({ name }) => name === `${typed[0]} list`) ? typed.slice(1) : typed;
  const operands = others.map((word) => word.replace(KIND, '')).filter(Boolean);
  const same = COMMANDS.find(({ name }) => !command.includes(' ') && ` ${name}`.endsWith(` ${command}`));
  const isTypo =
    nearestName(
      command,
      COMMANDS.map(({ name }) => name.slice(path.length).trim()),
    ) !== undefined;
  const answersOf = (name: string, words: readonly string[]): readonly Answer[] =>
    findReplacements(`dropforge ${name}`).map((sentence) => ({ sentence, words }));
  const [answer] = [
    ...answersOf(`${path} ${command}`, operands),
    ...(path === '' || path.endsWith('jobs') ? answersOf(command, operands) : []),
    ...(same === undefined ? [] : [{ sentence: 'Use `dropforge {}`.', words: [...same.name.split(' '), ...operands] }]),
    ...(isTypo ? [] : answersOf(path, [command, ...operands])),
  ];
  const target = COMMANDS.find(({ name }) => new RegExp(`\`dropforge ${name}[ \`]`).test(answer?.sentence ?? ''));
  const known = ((await target?.load())?.flags ?? []).map((flag) => `--${flag.name}`);
  return answer && { ...answer, words: translate(answer.words, { command, known }) };
}

type Flags = { readonly command: string; readonly known: readonly string[] };

/** The words with each flag of another tool replaced by those of the command. */
function translate(args: readonly string[], flags: Flags): readonly string[] {
  const words: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const found = findFlag(args, index, flags);
    words.push(...(found?.words ?? [args[index] ?? '']));
    index += found?.isValueNext ? 1 : 0;
  }
  return words;
}

/** The replacement of the flag at an index; undefined if it is none, or if the command has it. */
function findFlag(args: readonly string[], index: number, { command, known }: Flags) {
  const [flag = '', given] = args[index]?.split(/=(.*)/s) ?? [];
  const next = args[index + 1];
  const value = given ?? (next?.startsWith('-') ? undefined : next) ?? 'VALUE';
  const sentence = known.includes(flag)
    ? undefined
    : [`${command} ${flag}`, `${flag} ${value}`, flag]
        .flatMap(findReplacements)
        .find((one) => flagsIn(one).every((name) => known.includes(name)));
  const words = /\{(.*?)\}/
    .exec(sentence ?? '')?.[1]
    ?.split(' ')
    .filter(Boolean);
  return sentence === undefined || !flag.startsWith('-')
    ? undefined
    : {
        sentence: sentence.replace(/(?<!\{[^}]*)VALUE/, value),
        words: words?.map((word) => word.replace('VALUE', value)),
        isValueNext: sentence.includes('VALUE') && given === undefined && value === next,
      };
}

function flagsIn(sentence: string): readonly string[] {
  return /\{(.*?)\}/.exec(sentence)?.[1]?.match(/--[\w-]+/g) ?? [];
}
