import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as z from 'zod';
import type { BenchRow } from './bench-row.ts';

const SCRIPT = fileURLToPath(new URL('health_cost.py', import.meta.url));
/** Lines are searched for metrics, for which the agent takes at most 5 % of a core however many there are. */
const CORE_FRACTION_GOALS = { lines: 0.1, metrics: 0.005 };

const outputSchema = z.object({ lines: z.number(), metrics: z.number() });

/** The CPU time of the detectors of training health, as a fraction of one core, at 1,000 lines and metrics a second. */
export async function benchHealthCost(): Promise<BenchRow[]> {
  const { stdout } = await promisify(execFile)('python3', [SCRIPT]);
  const output = outputSchema.parse(JSON.parse(stdout));
  return (['lines', 'metrics'] as const).map((what) => {
    const [fraction, goal] = [output[what], CORE_FRACTION_GOALS[what]];
    return {
      name: `health: 1,000 ${what} a second`,
      measured: `${(100 * fraction).toFixed(2)} % of a core`,
      floor: `${100 * goal} % of a core`,
      ratio: fraction / goal,
      goal: '≤ 1',
      isMet: fraction <= goal,
    };
  });
}
