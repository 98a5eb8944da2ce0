import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Output } from '#cli/core/command.ts';
import { Failure } from '#cli/core/failure.ts';

/** How the user's own TensorBoard may be started, in this order. */
const COMMANDS = [
  ['tensorboard'],
  ['python3', '-m', 'tensorboard.main'],
  ['python', '-m', 'tensorboard.main'],
] as const;

const NOT_INSTALLED =
  'TensorBoard is not installed, neither as `tensorboard` nor as a module of Python. Install it with `pip install tensorboard`, or copy the event files only, with --dir FOLDER.';

/**
 * Starts TensorBoard on a folder and prints what it prints; it ends with the signal. `ended` is its exit code.
 * Throws Failure if TensorBoard is not installed.
 */
export async function startTensorboard(
  folder: string,
  { port, signal, stderr }: { readonly port: number; readonly signal: AbortSignal; readonly stderr: Output },
): Promise<{ readonly ended: Promise<number | null> }> {
  const flags = ['--logdir', folder, '--host', '127.0.0.1', '--port', String(port), '--reload_interval', '5'];
  for (const [program, ...args] of COMMANDS) {
    if (await isInstalled(program, args)) {
      const child = spawn(program, [...args, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
      child.stdout.on('data', (data: Uint8Array) => stderr.write(data));
      child.stderr.on('data', (data: Uint8Array) => stderr.write(data));
      const stop = () => child.kill('SIGTERM');
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) {
        stop();
      }
      return { ended: endOf(child) };
    }
  }
  throw new Failure(NOT_INSTALLED);
}

async function isInstalled(program: string, args: readonly string[]): Promise<boolean> {
  const test = args.length === 0 ? ['--help'] : ['-c', 'import tensorboard'];
  return (await endOf(spawn(program, test, { stdio: 'ignore' }))) === 0;
}

/** The exit code; null if it was killed, or cannot be started. */
async function endOf(child: ChildProcess): Promise<number | null> {
  const [code] = (await Promise.race([once(child, 'close'), once(child, 'error').then(() => [null])])) as [
    number | null,
  ];
  return code;
}
