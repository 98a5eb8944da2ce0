import type { Command } from '#cli/core/command.ts';

/** Rejects with an AbortError when the signal aborts: the work may wait for an answer that never comes. */
export async function orInterrupted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', onAbort));
}

/** A command that has nothing to stop or to report when it is interrupted. */
export function interruptible(command: Command): Command {
  return { ...command, run: (invocation) => orInterrupted(invocation.io.interrupted, command.run(invocation)) };
}
