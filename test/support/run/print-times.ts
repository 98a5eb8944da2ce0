import { readFileSync } from 'node:fs';
import { TIMES_FILE } from './reporter.ts';

/** `npm run test:times` prints the files of the last run that took longest, in seconds of wall time. */

const ROWS_MAX = 40;

const times: Readonly<Record<string, number>> = JSON.parse(readFileSync(TIMES_FILE, 'utf8'));
const rows = Object.entries(times).sort(([, a], [, b]) => b - a);
for (const [path, seconds] of rows.slice(0, ROWS_MAX)) {
  process.stdout.write(`${seconds.toFixed(1).padStart(7)}  ${path}\n`);
}
const total = rows.reduce((sum, [, seconds]) => sum + seconds, 0);
process.stdout.write(`${total.toFixed(1).padStart(7)}  ${rows.length} files\n`);
