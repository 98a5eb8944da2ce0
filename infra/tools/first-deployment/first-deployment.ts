import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { ROWS } from '#infra/tools/first-deployment/rows.ts';
import { runFirstDeployment } from '#infra/tools/first-deployment/run-first-deployment.ts';

const POLL_MS = 5_000;

const interruption = new AbortController();
// The second one ends this process.
process.once('SIGINT', () => interruption.abort()).once('SIGTERM', () => interruption.abort());

process.exitCode = await runFirstDeployment(process.argv.slice(2), {
  root: join(import.meta.dirname, '../../..'),
  folders: join(process.cwd(), '.first-deployment'),
  rows: ROWS,
  pollMs: POLL_MS,
  write: (text) => void process.stdout.write(text),
  async confirm() {
    const questions = createInterface({ input: process.stdin, output: process.stdout });
    // Without a terminal the input ends, and the question is never answered.
    const ended = once(questions, 'close').then(() => '');
    const asked = questions.question('Continue? [y/N] ', { signal: interruption.signal }).catch(() => '');
    const answer = await Promise.race([asked, ended]);
    questions.close();
    return /^y(es)?$/i.test(answer.trim());
  },
  interrupted: interruption.signal,
});
