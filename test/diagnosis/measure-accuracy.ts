import { findRoot } from '#shared/diagnosis/find-root.ts';
import type { LabeledLog } from './labeled-logs.ts';

/** The label of a log in which nothing shows a failure. */
export const NONE = 'none';

export type Verdict = LabeledLog & { readonly got: string; readonly line: string; readonly ms: number };

export type Accuracy = {
  readonly verdicts: readonly Verdict[];
  readonly wrong: readonly Verdict[];
  /** Logs without a failure that got a label. */
  readonly falseAlarms: readonly Verdict[];
  readonly fraction: number;
};

export function measureAccuracy(rows: readonly LabeledLog[]): Accuracy {
  const verdicts = rows.map((row) => {
    const start = performance.now();
    const root = findRoot(row.text.split('\n'));
    return { ...row, got: root?.label ?? NONE, line: root?.line ?? '', ms: performance.now() - start };
  });
  const wrong = verdicts.filter(({ label, got }) => label !== got);
  const falseAlarms = wrong.filter(({ label }) => label === NONE);
  return { verdicts, wrong, falseAlarms, fraction: rows.length === 0 ? 1 : 1 - wrong.length / rows.length };
}
