import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { classifyExit } from '#shared/diagnosis/classify-exit.ts';
import { classOf } from '#shared/domain/cause.ts';
import { BUCKET, configure, JOB_DIR, until } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist } from '../support/agent/vm-agent-package.ts';
import { factsOf } from '../support/diagnosis/job-facts.ts';

const { cloud, machine, ended } = startMachineForEachTest();

const MANIFEST = `${JOB_DIR}/dropforge-manifest.json`;

const NEVER_RUNS = "print('never run')\n";

/** Makes the agent stop retrying early: `setupSeconds` limits its retries. */
const SETUP_SECONDS = 1.5;

function hasRun(): boolean {
  return cloud().heartbeats.some(({ phase }) => phase === 'RUNNING');
}

/** Answers all requests that match with an error. */
function failRequests(status: number, matches: (request: Request) => boolean): void {
  cloud().intercept = (request) =>
    matches(request) ? Response.json({ error: { code: status, message: 'Not now.' } }, { status }) : undefined;
}

describe('a failure of Cloud Storage during setup', () => {
  it.each<[string, (request: Request) => boolean]>([
    ['the job directory is claimed', ({ url }) => url.includes('dropforge-manifest.json')],
    ['a package is downloaded', ({ url }) => url.includes('packages%2F')],
    ['the job directory is restored', ({ url }) => url.includes('prefix=')],
  ])('fails the attempt but not the job while %s', async (_, matches) => {
    configure(cloud(), [await makeSdist(NEVER_RUNS)], ({ limits }) => ({
      limits: { ...limits, setupSeconds: SETUP_SECONDS },
    }));
    failRequests(503, matches);

    const report = await ended(machine().boot());

    expect(report).toMatchObject({ reason: 'SERVICE_UNREACHABLE', exitCode: null });
    expect(report.evidence[0]).toMatch(/^(GET|POST) .+ answered 503: /);
    expect(classifyExit(report, factsOf('digits_1'))).toMatchObject({ cause: { code: 'SERVICE_UNREACHABLE' } });
    expect(hasRun()).toBe(false);
  });

  it.each<[string, string, (request: Request) => boolean]>([
    ['JOB_DIR_UNWRITABLE', 'the job directory', ({ url }) => url.includes('dropforge-manifest.json')],
    ['PACKAGE_UNREADABLE', 'a package', ({ url }) => url.includes('packages%2F')],
  ])('is %s if a request for %s is rejected', async (reason, _, matches) => {
    configure(cloud(), [await makeSdist(NEVER_RUNS)]);
    failRequests(403, matches);
    expect(await ended(machine().boot())).toMatchObject({ reason, evidence: [expect.stringContaining('403')] });
    expect(hasRun()).toBe(false);
  });
});

/** Creates the output of attempt 1: one object, and the manifest that names it. */
function createCheckpoint(body: string): void {
  const author = { 'dropforge-job': 'digits_1', 'dropforge-attempt': '1' };
  const { generation } = cloud().put(BUCKET, `${JOB_DIR}/checkpoint`, { body, metadata: author });
  const file = { sizeBytes: body.length, crc32c: '', generation: String(generation) };
  const manifest = { jobId: 'digits_1', attempt: 1, completeTo: null, files: { checkpoint: file } };
  cloud().put(BUCKET, MANIFEST, { body: JSON.stringify(manifest), metadata: author });
}

function committedNames(): readonly string[] {
  const body = cloud().objects.get(`${BUCKET}/${MANIFEST}`)?.body.toString() ?? '{"files":{}}';
  return Object.keys((JSON.parse(body) as { files: object }).files);
}

it('objects that the program itself wrote to the bucket are not restored', async () => {
  createCheckpoint('step 100');
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

it('a VM that reboots keeps committed files in the manifest, even if they have changed constantly since', async () => {
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
  await until(() => committedNames().includes('events'), first);
  machine().cutPower();
  await once(first, 'exit');

  const second = machine().boot();
  await until(() => committedNames().includes('second'), second);

  expect(committedNames()).toEqual(['events', 'second']);
});

describe('a checkpoint of an earlier attempt', () => {
  it('that cannot be restored ends the attempt, and the manifest still names it', async () => {
    createCheckpoint('step 100');
    configure(cloud(), [await makeSdist(NEVER_RUNS)], ({ spec }) => ({ spec: { ...spec, attempt: 2 } }));
    failRequests(403, ({ url }) => url.includes('digits%2Fcheckpoint'));

    const report = await ended(machine().boot());

    expect(report).toMatchObject({
      reason: 'CHECKPOINT_UNREADABLE',
      message: 'checkpoint, which an earlier attempt saved, could not be restored.',
      evidence: ['Cloud Storage answered 403: Not now.'],
    });
    expect(hasRun()).toBe(false);
    expect(committedNames()).toEqual(['checkpoint']);
  });

  it('that does not fit on the disk ends the attempt', async () => {
    createCheckpoint('x'.repeat(40_000_000));
    configure(cloud(), [await makeSdist(NEVER_RUNS)], ({ limits }) => ({
      attempt: 2,
      limits: { ...limits, diskBytesMax: 40_000_000 },
    }));

    const report = await ended(machine().boot());

    expect(report).toMatchObject({ reason: 'DISK_TOO_SMALL', exitCode: null });
    expect(report.message).toContain('have 40000000 bytes');
    expect(hasRun()).toBe(false);
    expect(committedNames()).toEqual(['checkpoint']);
  });

  it('that takes nearly all of the allowed disk space is restored', async () => {
    createCheckpoint('x'.repeat(90_000_000));
    const task = "import os\nprint(os.path.getsize(os.environ['DROPFORGE_OUTPUT_DIR'] + '/checkpoint'))\n";
    configure(cloud(), [await makeSdist(task)], ({ limits }) => ({
      attempt: 2,
      limits: { ...limits, diskBytesMax: 100_000_000 },
    }));

    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

    expect(cloud().logEntries.some(({ textPayload }) => textPayload === '90000000')).toBe(true);
  });
});

describe('a VM that has fewer GPUs than the job requested', () => {
  // A machine without a PCI bus does not show that one is missing there.
  it.skipIf(!existsSync('/sys/bus/pci/devices'))('is replaced before anything is downloaded', async () => {
    configure(cloud(), [await makeSdist(NEVER_RUNS)], ({ limits }) => ({
      gpuCount: 16,
      limits: { ...limits, setupSeconds: SETUP_SECONDS },
    }));
    await machine().install('nvidia-smi', "echo 'GPU 0: Tesla T4 (UUID: GPU-1)'");
    const report = await ended(machine().boot());
    expect(report).toMatchObject({
      reason: 'GPU_FAILED',
      message: expect.stringMatching(/\d+ of its 16 GPUs on its PCI/),
    });
    expect(report.evidence[0]).toBe('GPU 0: Tesla T4 (UUID: GPU-1)');
    const exit = classifyExit(report, factsOf('digits_1'));
    expect(exit).toMatchObject({ outcome: 'FAILED', cause: { code: 'GPU_FAILED' } });
    expect(exit.outcome === 'FAILED' && classOf(exit.cause)).toBe('interruption');
    expect(cloud().heartbeats.some(({ phase }) => phase === 'DOWNLOADING' || phase === 'RUNNING')).toBe(false);
  });
});
