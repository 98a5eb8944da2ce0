import { styleText } from 'node:util';
import { Argument, CommanderError, InvalidArgumentError, Option, Command as Parser } from 'commander';
import { COMMANDS, type CommandEntry } from '#cli/commands.ts';
import type { Command, ExitCode, Flag, Invocation, Io, Operand } from '#cli/core/command.ts';
import { createResultWriter, parseResultFormat, type ResultFormat } from '#cli/render/result-format.ts';
import packageFile from '#package.json' with { type: 'json' };

const { version: VERSION } = packageFile;
const TEXT: ResultFormat = { kind: 'text' };

const GROUPS: Readonly<Record<string, string>> = {
  jobs: 'Submit jobs and look after them',
  'jobs submit': 'Submit a job',
  'custom-jobs': 'The same in the words of Vertex AI',
  secrets: 'Keep secrets for jobs of the embedded cloud',
  admin: 'Play through what a cloud does to its VMs',
};

/** Runs one command line, and answers with the exit code. Nothing is thrown and the process is left alone. */
export async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  const { words, rest } = splitRest(argv);
  const call: Call = { io, rest, hasRest: argv.includes('--'), exitCode: 0 };
  try {
    const hint = findGcloudWords(words);
    if (hint !== undefined) {
      const { UsageFailure } = await import('#cli/core/failure.ts');
      throw new UsageFailure(hint);
    }
    await buildParser(call).parseAsync(words, { from: 'user' });
    return call.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has written its message or the help by now.
      return error.exitCode === 0 ? 0 : 2;
    }
    return reportError(error, io);
  }
}

type Call = { readonly io: Io; readonly rest: readonly string[]; readonly hasRest: boolean; exitCode: ExitCode };

/** The program's own arguments follow `--` and are nobody else's to read; `help X` is `X --help`. */
function splitRest(argv: readonly string[]): { words: string[]; rest: readonly string[] } {
  const end = argv.indexOf('--');
  const words = end === -1 ? [...argv] : argv.slice(0, end);
  return {
    words: words[0] === 'help' ? [...words.slice(1), '--help'] : words,
    rest: end === -1 ? [] : argv.slice(end + 1),
  };
}

function buildParser(call: Call): Parser {
  const root = createParser('dropforge', call)
    .description('Drop a training package into a bucket; get a trained model out, and nothing left running.')
    .addOption(
      new Option('--format <FORMAT>', 'how results are printed: text, json, yaml, or value(FIELD,…) with tabs between')
        .argParser(readFormat)
        .default(TEXT, 'text'),
    )
    .version(VERSION, '--version', 'show the version')
    .option('--data-dir <DIR>', 'state of the embedded cloud (default: the nearest .dropforge/)')
    .option('--deployment <FILE>', 'a deployment on Google Cloud in its place (terraform output -json deployment)')
    .addHelpText(
      'after',
      '\ndropforge COMMAND --help tells more about each.\nExit codes: 0 done, 1 failed, 2 wrong usage.',
    );
  const parents = new Map<string, Parser>([['', root]]);
  for (const entry of COMMANDS) {
    const words = entry.name.split(' ');
    let parent = root;
    for (let depth = 1; depth < words.length; depth += 1) {
      parent = findGroup({ parents, parent, name: words.slice(0, depth).join(' '), call });
    }
    parent.addCommand(
      createParser(words.at(-1) ?? '', call)
        .summary(entry.summary)
        .description(`${entry.summary}.`),
    );
  }
  return root;
}

function findGroup(query: { parents: Map<string, Parser>; parent: Parser; name: string; call: Call }): Parser {
  const known = query.parents.get(query.name);
  if (known !== undefined) {
    return known;
  }
  const group = createParser(query.name.split(' ').at(-1) ?? '', query.call).description(GROUPS[query.name] ?? '');
  query.parents.set(query.name, group);
  query.parent.addCommand(group);
  return group;
}

function createParser(name: string, call: Call): Parser {
  const { stdout, stderr } = call.io;
  return new Parser(name)
    .exitOverride()
    .helpCommand(false)
    .helpOption('-h, --help', 'show this help')
    .showSuggestionAfterError(true)
    .showHelpAfterError('(--help shows what can be given)')
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      getOutHelpWidth: () => stdout.terminal?.columns ?? 120,
      getErrHelpWidth: () => stderr.terminal?.columns ?? 120,
      getOutHasColors: () => stdout.hasColours,
      getErrHasColors: () => stderr.hasColours,
    })
    .configureHelp({ showGlobalOptions: true })
    .hook('preSubcommand', async (_parent, child) => {
      const entry = COMMANDS.find(({ name: full }) => full === pathOf(child));
      if (entry !== undefined) {
        defineCommand({ parser: child, entry, command: await entry.load(), call });
      }
    });
}

/** The words that lead to a parser, without the program's own name. */
function pathOf(parser: Parser): string {
  return parser.parent === null ? '' : [pathOf(parser.parent), parser.name()].filter(Boolean).join(' ');
}

function defineCommand(one: { parser: Parser; entry: CommandEntry; command: Command; call: Call }): void {
  const { parser, command, call } = one;
  for (const operand of command.operands) {
    parser.addArgument(new Argument(writeOperand(operand), operand.summary));
  }
  for (const flag of command.flags) {
    parser.addOption(createOption(flag));
    // gcloud's switches all have it, and scripts that were made of settings give it.
    if (flag.value === undefined || flag.isValueOptional === true) {
      parser.addOption(new Option(`--no-${flag.name}`).hideHelp());
    }
  }
  if (command.rest !== undefined) {
    parser.usage(`[options] ${command.operands.map(writeOperand).join(' ')} [-- ARGS...]`);
    parser.addHelpText('after', `\n-- ARGS...  ${command.rest}`);
  }
  if (command.notes !== undefined) {
    parser.addHelpText('after', `\n${command.notes}`);
  }
  parser.action(async () => {
    if (call.hasRest && command.rest === undefined) {
      parser.error(`error: '${one.entry.name}' takes nothing after --`);
    }
    call.exitCode = await command.run(await createInvocation(parser, call));
  });
}

function createOption({ name, letter, summary, value, choices, ...flag }: Flag): Option {
  const written = value === undefined ? '' : flag.isValueOptional ? ` [${value}]` : ` <${value}>`;
  const option = new Option(`${letter ? `-${letter}, ` : ''}--${name}${written}`, summary);
  if (flag.isRepeatable) {
    option.argParser<string[]>((text, before) => [...(before ?? []), text]);
  }
  return choices === undefined ? option : option.choices([...choices]);
}

function writeOperand({ name, count }: Operand): string {
  return { one: `<${name}>`, optional: `[${name}]`, many: `<${name}...>` }[count];
}

function readFormat(text: string): ResultFormat {
  const format = parseResultFormat(text);
  if (format === undefined) {
    throw new InvalidArgumentError('Write text, json, yaml, or value(FIELD,FIELD).');
  }
  return format;
}

async function createInvocation(parser: Parser, { io, rest }: Call): Promise<Invocation> {
  const values = new Map<string, unknown>();
  for (let level: Parser | null = parser; level !== null; level = level.parent) {
    for (const option of level.options) {
      const value: unknown = level.getOptionValue(option.attributeName());
      values.set(option.name(), value === false ? undefined : value);
    }
  }
  // The default and the only parser of the option give nothing else.
  const format = values.get('format') as ResultFormat;
  const writeResult = await createResultWriter(format);
  const flag = (name: string): string | undefined => {
    const value = values.get(name);
    return value === undefined ? undefined : String(value);
  };
  const flags = (name: string): readonly string[] => {
    const value = values.get(name);
    return value === undefined ? [] : Array.isArray(value) ? value.map(String) : [String(value)];
  };
  return {
    io,
    rest,
    operands: parser.args,
    flag,
    flags,
    isSet: (name) => values.get(name) !== undefined,
    isJson: format.kind !== 'text',
    dataDir: flag('data-dir') ?? io.dataDir,
    deployment: flag('deployment') ?? io.deployment,
    print: (result) => {
      const written = writeResult(result);
      io.stdout.write(written.endsWith('\n') || written === '' ? written : `${written}\n`);
    },
  };
}

async function reportError(error: unknown, io: Io): Promise<ExitCode> {
  const { Interruption, UsageFailure, describeError } = await import('#cli/core/failure.ts');
  const label = io.stderr.hasColours ? styleText('red', 'error:', { validateStream: false }) : 'error:';
  const isAborted = io.interrupted.aborted && error instanceof Error && error.name === 'AbortError';
  const text = error instanceof Interruption ? error.message : `${label} ${describeError(error)}`;
  io.stderr.write(`${isAborted ? 'Interrupted.' : text}\n`);
  return error instanceof UsageFailure ? 2 : 1;
}

/** What a command line of gcloud has before the words that it shares with this one. */
const LEADING_WORDS: ReadonlySet<string> = new Set([
  'gcloud',
  'alpha',
  'beta',
  'preview',
  'ai-platform',
  'ml-engine',
  'ml',
  'ai',
]);

/** What to do about a command line that was pasted as it is for gcloud; undefined where it is none. */
export function findGcloudWords(words: readonly string[]): string | undefined {
  const first = words.findIndex((word) => !LEADING_WORDS.has(word));
  const leading = words.slice(0, first === -1 ? words.length : first);
  if (leading.length === 0) {
    return undefined;
  }
  const [group = 'jobs', ...others] = words.slice(leading.length);
  if (group === 'hp-tuning-jobs') {
    return (
      `There is no hp-tuning-jobs here. Leave out \`${[...leading, group].join(' ')}\` and write ` +
      '`dropforge jobs submit training JOB --config FILE`, with the whole tuning job in the file.'
    );
  }
  const flags = others.findIndex((word) => word.startsWith('-'));
  const command = [group, ...(flags === -1 ? others : others.slice(0, flags))].slice(0, 3).join(' ');
  return `This is a command line of gcloud. Leave out \`${leading.join(' ')}\`: \`dropforge ${command} …\`.`;
}
