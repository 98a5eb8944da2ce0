import { describe, expect, it } from 'vitest';
import { judgeExit } from '#shared/domain/exit-report.ts';
import { configure } from './vm-agent-cloud.ts';
import { startMachineForEachTest } from './vm-agent-machine.ts';
import { makeSdist } from './vm-agent-package.ts';

const { cloud, machine, ended } = startMachineForEachTest();

const NEVER_RUNS = "print('never run')\n";

/** The agent gives up so early only here: `setupSeconds` ends its patience. */
const SETUP_SECONDS = 1.5;

function hasRun(): boolean {
  return cloud().heartbeats.some(({ phase }) => phase === 'RUNNING');
}

/** Answers so in place of every request that the test picks. */
function answer(status: number, picks: (request: Request) => boolean): void {
  cloud().intercept = (request) =>
    picks(request) ? Response.json({ error: { code: status, message: 'Not now.' } }, { status }) : undefined;
}

describe('trouble of Cloud Storage at the start', () => {
  it.each<[string, (request: Request) => boolean]>([
    ['the job directory is claimed', ({ url }) => url.includes('dropforge-manifest.json')],
    ['a package is downloaded', ({ url }) => url.includes('packages%2F')],
    ['the job directory is restored', ({ url }) => url.includes('prefix=')],
  ])('costs a new attempt and not the job, while %s', async (_, picks) => {
    configure(cloud(), [await makeSdist(NEVER_RUNS)], ({ limits }) => ({
      limits: { ...limits, setupSeconds: SETUP_SECONDS },
    }));
    answer(503, picks);

    const report = await ended(machine().boot());

    expect(report).toMatchObject({ reason: 'STORAGE_UNREACHABLE', exitCode: null });
    expect(report.evidence[0]).toMatch(/^(GET|POST) .+ answered 503: /);
    expect(judgeExit(report, 'digits_1')).toMatchObject({ cause: { code: 'STORAGE_UNREACHABLE' } });
    expect(hasRun()).toBe(false);
  });

  it.each<[string, string, (request: Request) => boolean]>([
    ['JOB_DIR_UNWRITABLE', 'the job directory', ({ url }) => url.includes('dropforge-manifest.json')],
    ['PACKAGE_UNREADABLE', 'a package', ({ url }) => url.includes('packages%2F')],
  ])('is %s where the answer for %s is a refusal', async (reason, _, picks) => {
    configure(cloud(), [await makeSdist(NEVER_RUNS)]);
    answer(403, picks);
    expect(await ended(machine().boot())).toMatchObject({ reason, evidence: [expect.stringContaining('403')] });
    expect(hasRun()).toBe(false);
  });
});
