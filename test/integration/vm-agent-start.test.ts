import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { classifyExit } from '#shared/domain/exit-report.ts';
import { BUCKET, configure, JOB_DIR, until } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist } from '../support/agent/vm-agent-package.ts';

const { cloud, machine, ended } = startMachineForEachTest();

const MANIFEST = `${JOB_DIR}/dropforge-manifest.json`;

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

    expect(report).toMatchObject({ reason: 'SERVICE_UNREACHABLE', exitCode: null });
    expect(report.evidence[0]).toMatch(/^(GET|POST) .+ answered 503: /);
    expect(classifyExit(report, 'digits_1')).toMatchObject({ cause: { code: 'SERVICE_UNREACHABLE' } });
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

/** What attempt 1 of the job has left: one object and the manifest that names it. */
function leaveCheckpoint(body: string): void {
  const author = { 'dropforge-job': 'digits_1', 'dropforge-attempt': '1' };
  const { generation } = cloud().put(BUCKET, `${JOB_DIR}/checkpoint`, { body, metadata: author });
  const file = { sizeBytes: body.length, crc32c: '', generation: String(generation) };
  const manifest = { jobId: 'digits_1', attempt: 1, completeTo: null, files: { checkpoint: file } };
  cloud().put(BUCKET, MANIFEST, { body: JSON.stringify(manifest), metadata: author });
}

function sealedNames(): readonly string[] {
  const body = cloud().objects.get(`${BUCKET}/${MANIFEST}`)?.body.toString() ?? '{"files":{}}';
  return Object.keys((JSON.parse(body) as { files: object }).files);
}

it('what the program has put into the bucket by itself keeps no GPU waiting: it stays there', async () => {
  leaveCheckpoint('step 100');
  cloud().put(BUCKET, `${JOB_DIR}/own/step-100`, { body: 'x'.repeat(50_000_000) });
  const task = "import os\nprint(' '.join(sorted(os.listdir(os.environ['DROPFORGE_OUTPUT_DIR']))))\n";
  configure(cloud(), [await makeSdist(task)], ({ limits }) => ({
    attempt: 2,
    limits: { ...limits, diskBytesMax: 40_000_000 },
  }));

  expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

  const printed = cloud().logEntries.filter(({ labels }) => labels.stream === 'stdout');
  expect(printed.map(({ textPayload }) => textPayload)).toEqual(['checkpoint']);
});

it('a VM that boots again seals nothing without what was sealed before, though it has not come to rest since', async () => {
  const task = `
import os, time
out = os.environ['DROPFORGE_OUTPUT_DIR']
is_second = os.path.exists(out + '/events')
open(out + '/events', 'a').close()
if is_second:
    open(out + '/second', 'w').close()
while True:
    time.sleep(0.01)
    if is_second:
        open(out + '/events', 'a').write('moving')
`;
  configure(cloud(), [await makeSdist(task)]);
  const first = machine().boot();
  await until(() => sealedNames().includes('events'), first);
  machine().cutPower();
  await once(first, 'exit');

  const second = machine().boot();
  await until(() => sealedNames().includes('second'), second);

  expect(sealedNames()).toEqual(['events', 'second']);
});

describe('a checkpoint that does not come back', () => {
  it('is no beginning from nothing: the attempt ends, and the manifest still names it', async () => {
    leaveCheckpoint('step 100');
    configure(cloud(), [await makeSdist(NEVER_RUNS)], () => ({ attempt: 2 }));
    answer(403, ({ url }) => url.includes('digits%2Fcheckpoint'));

    const report = await ended(machine().boot());

    expect(report).toMatchObject({
      reason: 'CHECKPOINT_UNREADABLE',
      message: 'checkpoint, which an earlier attempt saved, could not be restored.',
      evidence: ['Cloud Storage answered 403: Not now.'],
    });
    expect(hasRun()).toBe(false);
    expect(sealedNames()).toEqual(['checkpoint']);
  });

  it('ends the attempt where it does not fit on the disk', async () => {
    leaveCheckpoint('x'.repeat(40_000_000));
    configure(cloud(), [await makeSdist(NEVER_RUNS)], ({ limits }) => ({
      attempt: 2,
      limits: { ...limits, diskBytesMax: 40_000_000 },
    }));

    const report = await ended(machine().boot());

    expect(report).toMatchObject({ reason: 'DISK_TOO_SMALL', exitCode: null });
    expect(report.message).toContain('have 40000000 bytes');
    expect(hasRun()).toBe(false);
    expect(sealedNames()).toEqual(['checkpoint']);
  });

  it('is restored when it takes nearly all that the job may write', async () => {
    leaveCheckpoint('x'.repeat(90_000_000));
    const task = "import os\nprint(os.path.getsize(os.environ['DROPFORGE_OUTPUT_DIR'] + '/checkpoint'))\n";
    configure(cloud(), [await makeSdist(task)], ({ limits }) => ({
      attempt: 2,
      limits: { ...limits, diskBytesMax: 100_000_000 },
    }));

    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

    expect(cloud().logEntries.some(({ textPayload }) => textPayload === '90000000')).toBe(true);
  });
});
