import { Argument, CommanderError, Help, InvalidArgumentError, Option, Command as Parser } from 'commander';
import { COMMANDS, type GroupName } from '#cli/commands.ts';
import type { Command, CommandEntry, ExitCode, Flag, Invocation, Io, Operand } from '#cli/core/command.ts';
import { exampleOf } from '#cli/core/example-of.ts';
import { GLOBAL_FLAGS } from '#cli/core/global-flags.ts';
import { setCloudFlagsOfHints } from '#cli/core/program-name.ts';
import { selectCloud, selectedCloud } from '#cli/core/selected-cloud.ts';
import { explainSlip, explainUsage, optionsOf, pathOf } from '#cli/explain-usage.ts';
import { findMisplaced, moveBehind } from '#cli/program-arguments.ts';
import { createVisibleOutput, paint } from '#cli/render/paint.ts';
import { createResultWriter, parseResultFormat, type ResultFormat } from '#cli/render/result-format.ts';
import packageFile from '#package.json' with { type: 'json' };

const { version: VERSION } = packageFile;
const TEXT: ResultFormat = { kind: 'text' };

const GROUPS: Readonly<Record<GroupName, string>> = {
  jobs: 'Submit and manage jobs',
  'jobs submit': 'Submit a job',
  'custom-jobs': 'Submit and manage jobs, with the command names and flags of Vertex AI',
  'hp-tuning-jobs': 'Submit and manage tuning jobs, with the command names and flags of Vertex AI',
  deploy: 'Deploy to Google Cloud',
  notify: 'List and test notification channels',
  secrets: 'Manage the secrets of the embedded cloud',
  admin: 'Inject faults into the embedded cloud',
};

/** Runs a command line and returns its exit code. Never throws, and does not exit the process. */
export async function run(argv: readonly string[], rawIo: Io): Promise<ExitCode> {
  const io = { ...rawIo, stdout: createVisibleOutput(rawIo.stdout), stderr: createVisibleOutput(rawIo.stderr) };
  selectCloud(undefined);
  setCloudFlagsOfHints({ 'data-dir': undefined, deployment: undefined });
  const { args, rest } = splitRest(argv);
  const call: Call = { io, args, rest, hasRest: argv.includes('--'), exitCode: 0 };
  try {
    const slip = explainSlip(args);
    if (slip !== undefined) {
      const { UsageFailure } = await import('#cli/core/failure.ts');
      throw new UsageFailure(slip);
    }
    await buildParser(call).parseAsync(args, { from: 'user' });
    return call.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      await reportUsageError(error, call);
      return error.exitCode === 0 ? 0 : 2;
    }
    return reportError(error, io);
  }
}

type Call = {
  readonly io: Io;
  readonly args: readonly string[];
  readonly rest: readonly string[];
  readonly hasRest: boolean;
  exitCode: ExitCode;
  /** The command or group that found an error of usage. */
  failed?: Parser;
  excess?: string | undefined;
  /** The words of the command and its operands; undefined if it has no program whose arguments follow `--`. */
  wordsMax?: number;
};

/** Separates the arguments after `--`, which belong to the training program, and turns `help X` into `X --help`. */
function splitRest(argv: readonly string[]): { args: string[]; rest: readonly string[] } {
  const end = argv.indexOf('--');
  // A copied line can begin with the name of the program once more.
  const args = argv.slice(argv[0] === 'dropforge' ? 1 : 0, end === -1 ? argv.length : end);
  return {
    args: args[0] === 'help' ? [...args.slice(1), '--help'] : args,
    rest: end === -1 ? [] : argv.slice(end + 1),
  };
}

function buildParser(call: Call): Parser {
  const root = createParser('dropforge', call)
    .description('Drop a training package into a bucket; get a trained model out, and nothing left running.')
    .version(VERSION, '--version', 'print the version')
    .addHelpText(
      'after',
      '\nNew here? dropforge demo trains an example on this machine, and dropforge run . your own program.\n' +
        'For details, run dropforge COMMAND --help. Exit codes: 0 success, 1 failure, 2 usage error.',
    );
  for (const flag of GLOBAL_FLAGS) {
    const option = createOption(flag);
    root.addOption(flag.name === 'format' ? option.argParser(readFormat).default(TEXT, 'text') : option);
  }
  const parents = new Map<string, Parser>([['', root]]);
  const entries: readonly CommandEntry[] = COMMANDS;
  for (const entry of entries) {
    if (entry.section !== undefined) {
      root.commandsGroup(entry.section);
    }
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
  // The name consists of the first words of a command.
  const title = GROUPS[query.name as GroupName];
  const group = createParser(query.name.split(' ').at(-1) ?? '', query.call).description(title);
  query.parents.set(query.name, group);
  query.parent.addCommand(group);
  return group;
}

function createParser(name: string, call: Call): Parser {
  const { stdout, stderr } = call.io;
  const parser = new Parser(name);
  return parser
    .exitOverride()
    .helpCommand(false)
    .helpOption('-h, --help', 'print this help')
    .showSuggestionAfterError(false)
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: () => {
        call.failed = parser;
      },
      getOutHelpWidth: () => stdout.terminal?.columns ?? 120,
      getErrHelpWidth: () => stderr.terminal?.columns ?? 120,
      getOutHasColors: () => stdout.hasColors,
      getErrHasColors: () => stderr.hasColors,
    })
    .configureHelp({
      showGlobalOptions: true,
      visibleGlobalOptions(this: Help, command) {
        const unused = GLOBAL_FLAGS.filter(({ except }) => except.test(pathOf(command))).map((flag) => flag.name);
        return Help.prototype.visibleGlobalOptions.call(this, command).filter((one) => !unused.includes(one.name()));
      },
    })
    .hook('preSubcommand', async (_parent, child) => {
      const entry = COMMANDS.find(({ name: full }) => full === pathOf(child));
      if (entry !== undefined) {
        defineCommand({ parser: child, entry, command: await entry.load(), call });
      }
    });
}

/** Prints an error that Commander has found; a name of another tool is answered with what to type instead. */
async function reportUsageError({ message }: CommanderError, call: Call): Promise<void> {
  const { args, failed, io, rest, excess, wordsMax } = call;
  if (failed === undefined) {
    return;
  }
  const [, kind, name = ''] = /^error: unknown (command|option) '(.*)'$/s.exec(message) ?? [];
  const known = optionsOf(failed).flatMap(({ short, long }) => [short ?? '', long ?? '']);
  const { explainUnknown } = await import('#cli/explain-unknown.ts');
  const answer =
    kind === undefined ? undefined : await explainUnknown({ path: pathOf(failed), name, args, known }, rest);
  const isForProgram =
    wordsMax !== undefined && (kind === 'option' || (excess === undefined && /too many/.test(message)));
  const hint = isForProgram ? moveBehind(call, optionsOf(failed), wordsMax) : '';
  const text =
    answer === undefined
      ? explainUsage(failed, `${message}\n`, excess) + hint
      : `error: unknown ${kind} '${name.replace(/=.*/s, '')}'. ${answer}\n`;
  io.stderr.write(`${text}(for usage, add --help)\n`);
}

function defineCommand(one: { parser: Parser; entry: CommandEntry; command: Command; call: Call }): void {
  const { parser, command, call } = one;
  for (const operand of command.operands) {
    parser.addArgument(new Argument(writeOperand(operand), operand.summary));
  }
  for (const flag of command.flags) {
    parser.addOption(createOption(flag));
    // All gcloud switches have a --no- variant, which generated scripts use.
    if ((flag.value === undefined || flag.isValueOptional === true) && !flag.name.startsWith('no-')) {
      parser.addOption(new Option(`--no-${flag.name}`).hideHelp());
    }
  }
  if (command.rest !== undefined) {
    call.wordsMax = one.entry.name.split(' ').length + command.operands.length;
    parser.usage(`[options] ${command.operands.map(writeOperand).join(' ')} [-- ARGS...]`);
    parser.addHelpText('after', `\n-- ARGS...  ${command.rest}`);
  }
  if (command.notes !== undefined) {
    parser.addHelpText('after', `\n${command.notes}`);
  }
  parser.addHelpText('after', `\nExample: ${exampleOf(one.entry, command)}`);
  call.excess = command.excess;
  parser.action(async () => {
    if (call.hasRest && command.rest === undefined) {
      parser.error(`error: '${one.entry.name}' does not accept arguments after --`);
    }
    const isGiven = (name: string) =>
      parser.getOptionValueSourceWithGlobals(new Option(`--${name}`).attributeName()) === 'cli';
    const unused = GLOBAL_FLAGS.find(({ name, except }) => isGiven(name) && except.test(one.entry.name));
    if (unused !== undefined) {
      parser.error(`error: --${unused.name} has no effect on '${one.entry.name}': remove it`);
    }
    if (isGiven('data-dir') && isGiven('deployment')) {
      parser.error('error: --data-dir and --deployment name two clouds: remove one of them');
    }
    call.exitCode = await command.run(await createInvocation(parser, call));
  });
}

function createOption({ name, letter, summary, value, ...flag }: Flag): Option {
  const written = value === undefined ? '' : flag.isValueOptional ? ` [${value}]` : ` <${value}>`;
  const option = new Option(`${letter ? `-${letter}, ` : ''}--${name}${written}`, summary);
  if (flag.isRepeatable) {
    option.argParser<string[]>((text, before) => [...(before ?? []), text]);
  }
  return option;
}

function writeOperand({ name, count }: Operand): string {
  return { one: `<${name}>`, optional: `[${name}]`, many: `<${name}...>`, any: `[${name}...]` }[count];
}

function readFormat(text: string): ResultFormat {
  const format = parseResultFormat(text) ?? parseResultFormat(text.toLowerCase());
  if (format === undefined) {
    throw new InvalidArgumentError('Use text, json, yaml, csv, csv(FIELD,FIELD) or value(FIELD,FIELD).');
  }
  return format;
}

async function createInvocation(parser: Parser, { io, args, rest }: Call): Promise<Invocation> {
  const values = new Map<string, unknown>();
  for (let level: Parser | null = parser; level !== null; level = level.parent) {
    for (const option of level.options) {
      const value: unknown = level.getOptionValue(option.attributeName());
      // Commander sets the value of a switch whose name begins with no- to true, unless it is given.
      values.set(option.name(), option.negate ? value === false || undefined : value === false ? undefined : value);
    }
  }
  // The option's default and its only parser both produce a ResultFormat.
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
  setCloudFlagsOfHints({ 'data-dir': flag('data-dir'), deployment: flag('deployment') });
  return {
    io,
    rest,
    misplaced: findMisplaced({ args, rest }, optionsOf(parser)),
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
  const { InvalidFlagError } = await import('#shared/job-file/flags/flag-list.ts');
  const label = paint('error:', 'red', io.stderr);
  const isAborted = io.interrupted.aborted && error instanceof Error && error.name === 'AbortError';
  const text = error instanceof Interruption ? error.message : `${label} ${describeError(error)}`;
  io.stderr.write(`${isAborted ? 'Interrupted.' : text}\n`);
  const cloud = selectedCloud();
  if (cloud !== undefined && !isAborted && !(error instanceof Interruption)) {
    io.stderr.write(`${paint('cloud:', 'dim', io.stderr)} ${cloud}\n`);
  }
  return error instanceof UsageFailure || error instanceof InvalidFlagError ? 2 : 1;
}
