import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/** Variables of the tests that a user has as well: pip's indexes, certificates, the folder of temporary files. */
const INHERITED = /^(PIP_\w+|SSL_\w+|\w+_PROXY|\w+_proxy|LANG|TMPDIR)$/;

/** The home folder as pages show it. */
const SHOWN_HOME = '/home/you';

const COMMAND_MS_MAX = 240_000;
const START_MS_MAX = 20_000;

/** Keeps folder and exported variables from one command to the next. */
const SCRIPT = `exec 2>&1; . "$SESSION" 2>/dev/null; eval "$1"; code=$?
{ export -p; printf 'cd %q\\n' "$PWD"; } > "$SESSION"; exit $code`;

export type Outcome = { readonly output: string; readonly code: number | null };

export type TutorialShell = {
  /** A new and empty folder, in which the first command runs. */
  readonly home: string;
  /** Runs a command to its end. With a pattern, presses Ctrl-C as soon as its output matches. */
  run(command: string, interruptAt?: RegExp): Promise<Outcome>;
  /** Starts a command that runs until the shell is closed, and returns when its output matches, or when it has ended. */
  start(command: string, pattern: RegExp): Promise<Outcome>;
  close(): Promise<void>;
};

/** The shell of a user with an empty home folder, this Node.js, and programs from these folders. */
export async function openTutorialShell(
  folders: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<TutorialShell> {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-tutorial-'));
  const home = join(directory, 'you');
  await mkdir(home);
  const inherited = Object.entries(process.env).filter(([name]) => INHERITED.test(name));
  const system = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  const env = {
    ...Object.fromEntries(inherited),
    ...variables,
    HOME: home,
    NO_COLOR: '1',
    NPM_CONFIG_PREFIX: join(home, '.npm-global'),
    SESSION: join(directory, 'session'),
    PATH: [join(home, '.npm-global/bin'), ...folders, dirname(process.execPath), ...system].join(delimiter),
  };
  const running: ChildProcess[] = [];

  function spawnShell(command: string) {
    const argv = ['-c', SCRIPT, 'bash', command];
    const child = spawn('bash', argv, { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const outcome = { output: '', code: null as number | null };
    const closed = once(child, 'close').then(([code]) => Object.assign(outcome, { code }));
    return { child, outcome, closed };
  }

  /** Resolves with true if the output matches before the command ends or the time has passed. */
  function awaitMatch(
    { child, outcome, closed }: ReturnType<typeof spawnShell>,
    { pattern, msMax }: { readonly pattern: RegExp | undefined; readonly msMax: number },
  ): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => end(false), msMax);
      const end = (isMatched: boolean) => {
        clearTimeout(timer);
        resolve(isMatched);
      };
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        outcome.output += stripVTControlCharacters(text).replaceAll(home, SHOWN_HOME);
        if (pattern?.test(outcome.output)) {
          end(true);
        }
      });
      closed.finally(() => end(false));
    });
  }

  return {
    home,
    async run(command, interruptAt) {
      const shell = spawnShell(command);
      if (await awaitMatch(shell, { pattern: interruptAt, msMax: COMMAND_MS_MAX })) {
        shell.outcome.output += '^C\n';
        signalGroup(shell.child, 'SIGINT');
      } else if (shell.child.exitCode === null && shell.child.signalCode === null) {
        signalGroup(shell.child, 'SIGKILL');
      }
      return shell.closed;
    },
    async start(command, pattern) {
      const shell = spawnShell(command);
      running.push(shell.child);
      await awaitMatch(shell, { pattern, msMax: START_MS_MAX });
      return shell.outcome;
    },
    async close() {
      for (const child of running.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
        const closed = once(child, 'close');
        signalGroup(child, 'SIGINT');
        await closed;
      }
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined) {
    process.kill(-pid, signal);
  }
}
