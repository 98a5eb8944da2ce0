import type { Tools } from '#infra/tools/first-deployment/tools.ts';

/** A row of docs/first-deployment.md. */
export type Row = {
  readonly id: string;
  readonly expected: string;
  /** The row that must have passed before; null for the first. */
  readonly needs: string | null;
  readonly secondsMax: number;
  /** Whether it submits a job, which is named after it. */
  readonly hasJob?: boolean;
  /** Returns what it has seen; throws Unexpected if that is not what is expected. */
  readonly run: (tools: Tools) => Promise<string>;
};
