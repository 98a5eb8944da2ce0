import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as z from 'zod';
import type { BenchRow } from './bench-row.ts';

const SCRIPT = fileURLToPath(new URL('health_cost.py', import.meta.url));
const CORE_FRACTION_GOAL = 0.005;

const outputSchema = z.object({ lines: z.number(), metrics: z.number() });

/** The CPU time of the detectors of training health, as a fraction of one core, at 1,000 lines and metrics a second. */
export async function benchHealthCost(): Promise<BenchRow[]> {
  const { stdout } = await promisify(execFile)('python3', [SCRIPT]);
  return Object.entries(outputSchema.parse(JSON.parse(stdout))).map(([what, fraction]) => ({
    name: `health: 1,000 ${what} a second`,
    measured: `${(100 * fraction).toFixed(2)} % of a core`,
    floor: `${100 * CORE_FRACTION_GOAL} % of a core`,
    ratio: fraction / CORE_FRACTION_GOAL,
    goal: '≤ 1',
    isMet: fraction <= CORE_FRACTION_GOAL,
  }));
}
