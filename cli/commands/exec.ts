import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { join } from 'node:path';
import { createAdminClient } from '#cli/client/admin-client.ts';
import { createApiClient } from '#cli/client/api-client.ts';
import { findCloud } from '#cli/client/find-cloud.ts';
import { findTarget } from '#cli/client/find-target.ts';
import { type Command, defineFlag, type ExitCode, type Invocation } from '#cli/core/command.ts';
import { Failure } from '#cli/core/failure.ts';
import { quoteForShell } from '#shared/text/quote-for-shell.ts';

/** Beside the agent on a VM of Google Cloud. */
const AGENT = '/var/lib/dropforge/agent.pyz';

const REPLICA_FLAG = defineFlag(
  'replica REPLICA',
  'the replica, such as worker-1; the master, or the one whose VM is kept, by default',
);
const OPERANDS = [{ name: 'JOB', summary: 'job id', count: 'one' }] as const;
const NOTES =
  'Runs in the environment of the program: its variables, its working directory, its container. On Google Cloud it uses your own gcloud (docs/shell.md). Exits with the exit code of the command.';

export const exec: Command = {
  operands: OPERANDS,
  excess: 'Write the command behind --, as in `dropforge exec JOB -- ls`.',
  example: 'digits -- nvidia-smi',
  flags: [REPLICA_FLAG],
  rest: 'command to run, and its arguments; a shell by default',
  notes: NOTES,
  run: (invocation) => enter(invocation, invocation.rest),
};

export const ssh: Command = {
  operands: OPERANDS,
  flags: [REPLICA_FLAG],
  notes: NOTES,
  run: (invocation) => enter(invocation, []),
};

type Entry = { readonly file: string; readonly args: readonly string[] };

async function enter(invocation: Invocation, command: readonly string[]): Promise<ExitCode> {
  const { io, operands, flag } = invocation;
  const target = await findTarget(invocation);
  const request = { replica: flag('replica'), command: command.length === 0 ? undefined : command.join(' ') };
  const shell = await createApiClient(target.api, io.interrupted).openShell(operands[0] ?? '', request);
  if (invocation.deployment !== undefined) {
    return run(entryByGcloud({ ...shell, projectId: target.projectId }, command));
  }
  const { admin } = await findCloud(invocation);
  const vm = await createAdminClient(admin, io.interrupted).findVm(shell.vmName);
  const home = join(vm.directory, 'disk');
  // By the mark, the process ends with its VM.
  const variables = [`DROPFORGE_HOME=${home}`, `DROPFORGE_VM=${vm.instanceId}`];
  const python = join(vm.directory, 'bin', 'python3');
  return run({ file: 'env', args: [...variables, python, join(home, 'agent.pyz'), 'enter', ...command] });
}

type Machine = { readonly vmName: string; readonly zone: string; readonly projectId: string };

/** The command line of gcloud that enters a VM through Identity-Aware Proxy, as root, whose program it is. */
export function entryByGcloud({ vmName, zone, projectId }: Machine, command: readonly string[]): Entry {
  const remote = ['sudo', 'python3', AGENT, 'enter', ...command].map(quoteForShell).join(' ');
  const tty = process.stdin.isTTY && process.stdout.isTTY ? ['--', '-t'] : [];
  const where = [vmName, `--zone=${zone}`, `--project=${projectId}`, '--tunnel-through-iap', '--quiet'];
  return { file: 'gcloud', args: ['compute', 'ssh', ...where, `--command=${remote}`, ...tty] };
}

/** Runs the program with this terminal or these pipes. Returns its exit code, or 128 and the number of its signal. */
async function run({ file, args }: Entry): Promise<ExitCode> {
  // An interrupt of the terminal reaches the command as well, and is its own.
  const ignore = () => undefined;
  process.on('SIGINT', ignore);
  try {
    const child = spawn(file, args, { stdio: 'inherit' });
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new Failure(
        `${file} was not found. On a deployment, install the Google Cloud CLI: https://cloud.google.com/sdk.`,
      );
    }
    throw error;
  } finally {
    process.off('SIGINT', ignore);
  }
}
