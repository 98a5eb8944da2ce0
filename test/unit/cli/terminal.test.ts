import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { replicaOf, startTestCloud, type TestCloud, trialOf, tuningOf, viewOf } from '../../support/cli/test-cloud.ts';

const PROGRAM = fileURLToPath(new URL('../../../cli/dropforge.js', import.meta.url));

/** Runs its arguments on a terminal of its own, prints what the terminal gets, and exits with the command's code. */
const ON_TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';

let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud();
  const cause = { code: 'NON_ZERO_EXIT', class: 'user', message: 'It ended with 1.', remedy: 'Read its log.' };
  const diagnosis = { evidence: ['Traceback'], label: null, canRetryHelp: false, rootLine: null, link: null };
  cloud.jobs.set('done', [viewOf('done')]);
  cloud.jobs.set('failed', [viewOf('failed', { state: 'FAILED', cause: { ...cause, ...diagnosis } })]);
  cloud.jobs.set('running', [viewOf('running', { state: 'RUNNING', endTime: null, replicas: [replicaOf()] })]);
  cloud.jobs.set('search', [viewOf('search', { tuning: tuningOf({ endedTrialCount: 3 }) })]);
  cloud.trials.push(trialOf('1'), trialOf('2', { isTrialStoppedEarly: true }), trialOf('3', { state: 'FAILED' }));
  const entry = { jobId: 'done', attempt: 1, replica: 'master-0', stream: 'stderr', at: 0 } as const;
  cloud.logs.push({ ...entry, severity: 'ERROR', text: 'one' }, { ...entry, severity: 'WARNING', text: 'two' });
  const vm = {
    vmName: 'vm-1',
    jobId: 'running',
    attempt: 1,
    replica: 'master-0',
    zone: 'us-central1-a',
    status: 'RUNNING',
    instanceId: '17',
  };
  cloud.vms.push(vm);
});
afterAll(() => cloud.close());

async function runOnTerminal(argv: readonly string[]): Promise<string> {
  const command = [process.execPath, PROGRAM, '--data-dir', cloud.dataDir, ...argv];
  const { NO_COLOR: _, FORCE_COLOR: __, ...environment } = process.env;
  const { stdout } = await promisify(execFile)('python3', ['-c', ON_TERMINAL, ...command], {
    env: { ...environment, TERM: 'xterm-256color' },
  }).catch((error: { stdout: string }) => error);
  return stdout;
}

const ESCAPE = '\u001b';
const STYLE = new RegExp(`${ESCAPE}\\[?([\\d;]*)m?`, 'g');

/** Styles that a line begins and does not end, or ends without having begun them. */
function findUnbalanced(line: string): readonly string[] {
  const open: string[] = [];
  const endOf = (style: number) => (style === 1 || style === 2 ? '22' : style >= 30 && style < 38 ? '39' : '?');
  for (const [sequence, style = ''] of line.matchAll(STYLE)) {
    if (open.at(-1) === style) {
      open.pop();
    } else {
      open.push(sequence.endsWith('m') ? endOf(Number(style)) : sequence);
    }
  }
  return open;
}

describe('on a terminal, styles begin and end within a line, and none is shown as text, by', () => {
  it.each([
    ['jobs list', /\^\[32mSUCCEEDED\^\[39m +-/],
    ['trials search', /\^\[32mSUCCEEDED\^\[39m, stopped early/],
    ['trials search 3', /\^\[31mFAILED\^\[39m/],
    ['jobs describe done', /\^\[32mSUCCEEDED\^\[39m/],
    ['jobs describe failed', /\^\[31mFAILED\^\[39m/],
    ['jobs describe running', /\^\[36mRUNNING\^\[39m/],
    ['jobs describe search', /\^\[32mSUCCEEDED\^\[39m/],
    ['jobs stream-logs done', /one/],
    ['jobs wait done', /SUCCEEDED/],
    ['metrics done', /loss/],
    ['status', /vm-1/],
    ['ls', /gs:\/\/uploads/],
    ['jobs describe none', /\^\[\d+merror:?\^\[\d+m/],
    ['--help', /Usage/],
  ])('dropforge %s', { concurrent: true }, async (command, expected) => {
    const shown = await runOnTerminal(command.split(' '));
    expect(shown.replaceAll(ESCAPE, '^')).toMatch(expected);
    expect(shown).not.toMatch(/\\x[0-9a-f]{2}|\\u00[0-9a-f]{2}/);
    expect(shown.split('\r\n').flatMap(findUnbalanced)).toEqual([]);
  });
});
