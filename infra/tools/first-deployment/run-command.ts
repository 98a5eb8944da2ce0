import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, open, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** Until an interrupted command is killed: Terraform first awaits what it has begun, such as a build. */
const END_MS_MAX = 900_000;

export type CommandRun = { readonly status: number | null; readonly stdout: string; readonly stderr: string };
export type RunCommand = (command: readonly string[], signal: AbortSignal, input?: string) => Promise<CommandRun>;

/**
 * Returns a function that runs a command to its end, and returns what it printed. An aborted signal interrupts it once:
 * a second interrupt would keep Terraform from saving its state. The output goes to files in the folder, and the
 * command has a process group of its own, so that Terraform goes on if this process is killed.
 */
export function createCommandRunner(folder: string, environment: NodeJS.ProcessEnv | undefined): RunCommand {
  let count = 0;
  return async ([program = '', ...args], signal, input) => {
    signal.throwIfAborted();
    count += 1;
    const path = join(folder, `${String(count).padStart(4, '0')}-${basename(program)}`);
    const [out, err] = [await open(`${path}.out`, 'w'), await open(`${path}.err`, 'w')];
    await appendFile(join(folder, 'commands.txt'), `${path}: ${[program, ...args].join(' ')}\n`);
    const stdin = input === undefined ? 'ignore' : 'pipe';
    const child = spawn(program, args, { env: environment, detached: true, stdio: [stdin, out.fd, err.fd] });
    let kill: NodeJS.Timeout | undefined;
    const interrupt = () => {
      child.kill('SIGINT');
      kill = setTimeout(() => child.kill('SIGKILL'), END_MS_MAX);
    };
    signal.addEventListener('abort', interrupt);
    try {
      child.stdin?.end(input);
      const [status] = await once(child, 'close').catch((error: Error) => {
        throw new Error(`${program} cannot be run: install it (docs/deployment.md), then repeat the command.`, {
          cause: error,
        });
      });
      return { status, stdout: await readFile(`${path}.out`, 'utf8'), stderr: await readFile(`${path}.err`, 'utf8') };
    } finally {
      clearTimeout(kill);
      signal.removeEventListener('abort', interrupt);
      await Promise.all([out.close(), err.close()]);
    }
  };
}
