import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { paint, showControls } from '../../../cli/render/paint.ts';
import { replicaOf, runCli, startTestCloud, type TestCloud, viewOf } from '../../support/cli/test-cloud.ts';

/** Clears the screen, sets the window's title, colors, conceals, in 7 and 8 bits; NUL, delete, right-to-left. */
const HOSTILE = '\u001b[2J\u001b]0;title\u0007\u001b[31mred\u001b[8m\u009b2J\0\r\u007f\u202e\u0008|';
const CONTROL = /[\p{Cc}\u202e]/u;

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
  const hostile = replicaOf({ metrics: { [HOSTILE]: 1 }, phase: HOSTILE });
  const diagnosis = { label: HOSTILE, canRetryHelp: false, rootLine: HOSTILE, link: HOSTILE };
  const cause = { code: HOSTILE, class: 'user', message: HOSTILE, remedy: HOSTILE, evidence: [HOSTILE], ...diagnosis };
  cloud.jobs.set('one', [viewOf('one', { state: 'FAILED', cause, labels: { a: HOSTILE }, replicas: [hostile] })]);
  const entry = { jobId: 'one', attempt: 1, replica: 'master-0', stream: 'stdout', severity: 'ERROR', at: 0 } as const;
  cloud.logs.push({ ...entry, text: HOSTILE });
  const problem = { code: 'BAD', message: HOSTILE, remedy: HOSTILE };
  const report = { verdict: 'REFUSED', source: HOSTILE, jobId: null, problems: [problem], warnings: [], job: null };
  const object = { bucket: 'uploads', name: 'bad/job.json.report.json' };
  await cloud.store.write(object, Buffer.from(JSON.stringify(report)));
  await cloud.store.write({ bucket: 'uploads', name: 'a\u001b[2J\u202e' }, Buffer.from(HOSTILE));
});
afterEach(() => cloud.close());

const COMMANDS: readonly (readonly string[])[] = [
  ['jobs', 'describe', 'one'],
  ['jobs', 'list'],
  ['jobs', 'stream-logs', 'one'],
  ['jobs', 'wait', 'one'],
  ['jobs', 'describe', HOSTILE],
  ['jobs', 'describe', 'bad'],
  ['ls', 'gs://uploads/'],
  ['--format=value(jobId,cause)', 'jobs', 'list'],
  ['--format=yaml', 'jobs', 'list'],
  ['--format=json', 'jobs', 'list'],
  ['--format=json', 'jobs', 'stream-logs', 'one'],
];

describe('text that a program printed or a user uploaded', () => {
  it.each(COMMANDS)('has its control characters shown as text: case %#', async (...argv) => {
    const { stdout, stderr } = await runCli(argv, { dataDir: cloud.dataDir });
    const lines = `${stdout}${stderr}`.split('\n');
    expect(lines.filter((line) => CONTROL.test(line.replaceAll('\t', '')))).toEqual([]);
    expect(`${stdout}${stderr}`.length).toBeGreaterThan(0);
  });

  it('is unchanged in JSON once it is parsed', async () => {
    const { json } = await runCli(['--format=json', 'jobs', 'stream-logs', 'one'], { dataDir: cloud.dataDir });
    expect(json()).toMatchObject([{ text: HOSTILE }]);
  });

  it('is written byte by byte by cat to a pipe', async () => {
    const { stdout } = await runCli(['cat', 'gs://uploads/a*'], { dataDir: cloud.dataDir });
    expect(stdout).toBe(HOSTILE);
  });

  it('cannot imitate the styles of the CLI', () => {
    const output = { hasColors: true };
    expect(showControls(`${paint('ok', 'green', output)} \u001b[32mno\u001b[39m`)).toBe(
      '\u001b[32mok\u001b[39m \\x1b[32mno\\x1b[39m',
    );
    expect(paint('ok', 'green', { hasColors: false })).toBe('ok');
  });
});
