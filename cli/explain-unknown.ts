import { COMMANDS } from '#cli/commands.ts';
import { programName } from '#cli/core/program-name.ts';
import { nearestName } from '#shared/text/nearest-name.ts';
import { quoteForShell } from '#shared/text/quote-for-shell.ts';
import { findReplacements } from '#shared/text/replaced-names.ts';

/** First words of pasted command lines, such as `gcloud beta ai-platform` and `kubectl`. */
const TOOLS: ReadonlySet<string> = new Set(
  'gcloud alpha beta preview ai-platform ml-engine ml ai batch kubectl sky modal app aws sagemaker hyperpod'.split(' '),
);

/** The part of a sentence that is filled in. */
const BRACES = /\{(.*?)\}/;

/** A kind of thing that kubectl has before its name: `job digits`, `job/digits`. */
const KIND = /^(jobs?|pods?|po|pytorchjobs?)(\/|$)/;

/** The command or group that does not have a name, empty for the root, and the flags that it has, with their dashes. */
type Place = { readonly path: string; readonly known: readonly string[] };

/** The name that is unknown, and the words of the command line before `--`. */
type Unknown = Place & { readonly name: string; readonly args: readonly string[] };

/** A sentence, and the words that take the place of its braces. */
type Answer = { readonly sentence: string; readonly words: readonly string[] };

/** Says what to type instead of a command or flag of another tool or version; undefined for other names. */
export async function explainUnknown(unknown: Unknown, rest: readonly string[]): Promise<string | undefined> {
  const { path, name, args } = unknown;
  const index = args.indexOf(name);
  const flag = name.startsWith('-') ? findFlag(args, index, unknown) : undefined;
  const answer = flag
    ? { ...flag, words: ['dropforge', ...translate(args, unknown)] }
    : await findCommand(path, args.slice(index));
  const line = [...(answer?.words ?? []), ...(rest.length === 0 ? [] : ['--', ...rest])].map(quoteForShell).join(' ');
  // Flags before an unknown command, such as --deployment, stay there.
  const before = flag ? [] : args.slice(0, index).filter((word) => !path.split(' ').includes(word));
  const program = [programName(), ...before.map(quoteForShell)].join(' ');
  return answer?.sentence
    .replace(BRACES, (_, placeholder: string) => line || placeholder)
    .replaceAll('`dropforge ', `\`${program} `);
}

async function findCommand(path: string, args: readonly string[]): Promise<Answer | undefined> {
  const typed = args.slice(args.findIndex((word) => !TOOLS.has(word)));
  const isPasted = typed.length < args.length;
  const names: readonly string[] = COMMANDS.map(({ name }) => name);
  if (isPasted && names.some((name) => `${typed.join(' ')} `.startsWith(`${name} `))) {
    return { sentence: 'Use `dropforge {}`.', words: typed };
  }
  const [command = '', ...others] = isPasted && names.includes(`${typed[0]} list`) ? typed.slice(1) : typed;
  const operands = others.map((word) => word.replace(KIND, '')).filter(Boolean);
  const same = names.find((name) => !/ |^-/.test(command) && ` ${name}`.endsWith(` ${command}`));
  const isTypo =
    nearestName(
      command,
      names.map((name) => name.slice(path.length).trim()),
    ) !== undefined;
  const answersOf = (name: string, words = operands): readonly Answer[] =>
    findReplacements(`dropforge ${name}`).map((sentence) => ({ sentence, words }));
  const [answer] = [
    ...answersOf(`${path} ${command}`),
    ...(path === '' || path.endsWith('jobs') ? answersOf(command) : []),
    ...(same === undefined ? [] : [{ sentence: 'Use `dropforge {}`.', words: [...same.split(' '), ...operands] }]),
    ...(isTypo ? [] : answersOf(path, [command, ...operands])),
  ];
  const target = COMMANDS.find(({ name }) => new RegExp(`\`dropforge ${name}[ \`]`).test(answer?.sentence ?? ''));
  const known = ((await target?.load())?.flags ?? []).map((flag) => `--${flag.name}`);
  return answer && { ...answer, words: translate(answer.words, { path: command, known }) };
}

/** The words with each flag of another tool replaced by those of the command. */
function translate(args: readonly string[], place: Place): readonly string[] {
  return args.flatMap((word, index) =>
    findFlag(args, index - 1, place)?.isValueNext ? [] : (findFlag(args, index, place)?.words ?? [word]),
  );
}

/** The replacement of the flag at an index; undefined if it is none, or if the command has it. */
function findFlag(args: readonly string[], index: number, { path, known }: Place) {
  const [flag = '', given] = args[index]?.split(/=(.*)/s) ?? [];
  const next = args[index + 1]?.startsWith('-') ? undefined : args[index + 1];
  const value = given ?? next ?? 'VALUE';
  const sentence = [`${path} ${flag}`, `${flag} ${value}`, flag]
    .flatMap((name) => (flag.startsWith('-') && !known.includes(flag) ? findReplacements(name) : []))
    .find((one) => (BRACES.exec(one)?.[1]?.match(/--[\w-]+/g) ?? []).every((name) => known.includes(name)));
  const words = BRACES.exec(sentence ?? '')?.[1]
    ?.split(' ')
    .filter(Boolean);
  return sentence === undefined
    ? undefined
    : {
        sentence: sentence.replace(/(?<!\{[^}]*)VALUE/, value),
        words: words?.map((word) => word.replace('VALUE', value)),
        isValueNext: sentence.includes('VALUE') && given === undefined && value === next,
      };
}
