import { destroy } from '#infra/tools/first-deployment/destroy.ts';
import type { Row } from '#infra/tools/first-deployment/rows.ts';
import { createTools, type Surroundings } from '#infra/tools/first-deployment/tools.ts';

type Outcome = 'passed' | 'FAILED' | 'not reached';
export type Result = Row & { readonly outcome: Outcome; readonly seen: string; readonly seconds: number };

export type Performance = {
  readonly rows: readonly Row[];
  readonly surroundings: Surroundings;
  readonly write: (text: string) => void;
  /** Ends the row, and skips the others. */
  readonly interrupted: AbortSignal;
};

export const DESTROY: Row = {
  id: 'destroy',
  expected: 'no bucket, network or VM of a deployment is listed',
  needs: null,
  secondsMax: 7_200,
  run: destroy,
};

/** Performs one row after the other; one whose condition has not passed is not reached. */
export async function performRows({ rows, surroundings, write, interrupted }: Performance): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const row of rows) {
    const needed = results.find(({ id }) => id === row.needs);
    const isReached = !interrupted.aborted && (needed === undefined || needed.outcome === 'passed');
    const result = isReached
      ? await performRow(row, surroundings, interrupted)
      : { ...row, outcome: 'not reached' as const, seen: '', seconds: 0 };
    write(`${row.id}: ${result.outcome}${result.seen && ` after ${result.seconds} s: ${result.seen}`}\n`);
    results.push(result);
  }
  return results;
}

async function performRow(row: Row, surroundings: Surroundings, interrupted: AbortSignal): Promise<Result> {
  const timeout = AbortSignal.timeout(row.secondsMax * 1_000);
  const startedAt = Date.now();
  const end = (outcome: Outcome, seen: string): Result => ({
    ...row,
    ...{ outcome, seen, seconds: Math.round((Date.now() - startedAt) / 1_000) },
  });
  try {
    return end('passed', await row.run(createTools(surroundings, AbortSignal.any([interrupted, timeout]))));
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return end(
      'FAILED',
      timeout.aborted ? `not seen within ${row.secondsMax} s` : interrupted.aborted ? 'interrupted' : problem,
    );
  }
}
