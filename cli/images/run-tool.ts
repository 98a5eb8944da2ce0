import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';

export type ToolOptions = {
  /** Ends the tool with SIGTERM; the call then throws the signal's reason. */
  readonly signal: AbortSignal;
  /**
   * Awaited between the signal and SIGTERM. The tool gets a process group of its own, so that the interrupt of a
   * terminal does not end it first.
   */
  readonly beforeEnd?: ((pid: number, hasEnded: () => boolean) => Promise<void>) | undefined;
  /** Called with each line of stdout and stderr. */
  readonly onLine?: ((line: string) => void) | undefined;
  /** For tools that answer at once; without it, the tool runs as long as it takes. */
  readonly timeoutMs?: number | undefined;
};

export type ToolResult = {
  readonly code: number;
  /** The first STDOUT_LINES_MAX lines. */
  readonly stdout: string;
  /** The last LINES_MAX lines of both outputs. */
  readonly lastLines: readonly string[];
};

const STDOUT_LINES_MAX = 5_000;
const LINES_MAX = 200;
const LINE_CHARACTERS_MAX = 2_000;

/** Runs a program of this machine without input. Returns undefined if it is not installed, or does not end in time. */
export async function runTool(argv: readonly string[], options: ToolOptions): Promise<ToolResult | undefined> {
  const { signal, onLine, timeoutMs, beforeEnd } = options;
  const [command = '', ...args] = argv;
  signal.throwIfAborted();
  const limit = timeoutMs === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const isHeld = beforeEnd !== undefined;
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: isHeld,
    ...(isHeld ? {} : { signal: limit }),
  });
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const end = async () => {
    if (beforeEnd !== undefined && child.pid !== undefined) {
      await beforeEnd(child.pid, hasEnded);
      child.kill('SIGTERM');
    }
  };
  limit.addEventListener('abort', end);
  const kept: string[] = [];
  const lastLines: string[] = [];
  const collect = async (stream: NodeJS.ReadableStream, isStdout: boolean) => {
    for await (const whole of createInterface({ input: stream })) {
      // Docker's own builder colors what a command prints on stderr, also where no terminal is.
      const line = stripVTControlCharacters(whole.slice(0, LINE_CHARACTERS_MAX));
      if (isStdout && kept.length < STDOUT_LINES_MAX) {
        kept.push(line);
      }
      lastLines.push(line);
      if (lastLines.length > LINES_MAX) {
        lastLines.shift();
      }
      onLine?.(line);
    }
  };
  const ended = new Promise<number | undefined>((resolve) => {
    child.on('error', () => resolve(undefined)).on('close', (code) => resolve(code ?? -1));
  });
  const [code] = await Promise.all([ended, collect(child.stdout, true), collect(child.stderr, false)]);
  limit.removeEventListener('abort', end);
  signal.throwIfAborted();
  return code === undefined ? undefined : { code, stdout: kept.join('\n'), lastLines };
}
