import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { VmConfig } from '#shared/protocol/vm-config.ts';
import { BUCKET, configure, JOB_DIR, until } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist } from '../support/agent/vm-agent-package.ts';

const { cloud, machine, ended } = startMachineForEachTest();

const MODEL_BYTES = 20_000_000;
const COMPOSED_BYTES = 70_000_000;
const SAVES_A_MODEL = `
import os
open(os.environ['DROPFORGE_OUTPUT_DIR'] + '/model', 'wb').write(bytes(${MODEL_BYTES}))
`;
const SAVES_TWO_FILES = `
import os
for name in ('first', 'second'):
    open(os.environ['DROPFORGE_OUTPUT_DIR'] + '/' + name, 'w').write(name)
`;

const WAITS_FOR_GO = `
import os, time
while not os.path.exists(os.environ['DROPFORGE_OUTPUT_DIR'] + '/go'):
    time.sleep(0.02)
`;

function objectOf(name: string) {
  return cloud().objects.get(`${BUCKET}/${JOB_DIR}/${name}`);
}

function savedBytes(name: string): number | undefined {
  return objectOf(name)?.body.length;
}

function savedText(name: string): string | undefined {
  return objectOf(name)?.body.toString();
}

/** The generations that the manifest in the bucket commits, by file name. */
function committed(): Readonly<Record<string, string>> {
  const manifest: { files: Record<string, { generation: string }> } = JSON.parse(
    objectOf('dropforge-manifest.json')?.body.toString() ?? '{"files":{}}',
  );
  return Object.fromEntries(Object.entries(manifest.files).map(([name, { generation }]) => [name, generation]));
}

function committedNames(): readonly string[] {
  return Object.keys(committed()).sort();
}

function isCommitted(name: string): boolean {
  return objectOf(name) !== undefined && committed()[name] === String(objectOf(name)?.generation);
}

/** Writes a file as a program does that overwrites its only checkpoint. */
function writeOutput(name: string, content: string | Buffer): void {
  writeFileSync(join(machine().home, 'output', name), content);
}

/** Configures the sync interval so that output is saved only after the program has ended. */
function savesAtTheEnd({ limits, intervals }: VmConfig, uploadSeconds: number = limits.uploadSeconds) {
  return { limits: { ...limits, uploadSeconds }, intervals: { ...intervals, syncSeconds: 600 } };
}

function isUploadOf(name: string, { method, url }: Request): boolean {
  return method === 'POST' && url.includes(`name=${JOB_DIR}%2F${name}&`);
}

function forbidden(): Response {
  return Response.json({ error: { code: 403, message: 'No permission.' } }, { status: 403 });
}

describe('the output of a program that has ended', () => {
  it('is saved although the server answers 503 to its first uploads', async () => {
    configure(cloud(), [await makeSdist(SAVES_A_MODEL)], (config) => savesAtTheEnd(config, 120));
    let uploads = 0;
    cloud().intercept = (request) => {
      uploads += isUploadOf('model', request) ? 1 : 0;
      return isUploadOf('model', request) && uploads <= 3 ? new Response('busy', { status: 503 }) : undefined;
    };

    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

    expect(savedBytes('model')).toBe(MODEL_BYTES);
  });

  it.each([
    ['recorded as a success before its end is reported', SAVES_TWO_FILES, 'true'],
    ['not recorded as a success if the program failed', `${SAVES_TWO_FILES}raise SystemExit(3)\n`, undefined],
  ])('is %s', async (_, task, recorded) => {
    configure(cloud(), [await makeSdist(task)]);
    let found: Readonly<Record<string, string>> = {};
    cloud().answerHeartbeat = ({ phase }) => {
      found = phase === 'EXITED' ? (objectOf('dropforge-manifest.json')?.metadata ?? {}) : found;
      return { command: 'CONTINUE', reason: null };
    };

    await ended(machine().boot());

    expect(found).toMatchObject({ 'dropforge-job': 'digits_1', 'dropforge-attempt': '1' });
    expect([found['dropforge-succeeded'], found['dropforge-ended']]).toEqual([recorded, recorded]);
    expect(committedNames()).toEqual(['first', 'second']);
  });

  it('is saved in parts, which leave nothing behind, although the server answers 503 to each at first', async () => {
    const task = SAVES_A_MODEL.replace(String(MODEL_BYTES), String(COMPOSED_BYTES));
    configure(cloud(), [await makeSdist(task)], (config) => savesAtTheEnd(config, 120));
    const rejected = new Set<string>();
    cloud().intercept = ({ url }) => {
      const isFirst = /parts|compose/.test(url) && !rejected.has(url);
      rejected.add(url);
      return isFirst ? new Response('busy', { status: 503 }) : undefined;
    };

    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

    expect(savedBytes('model')).toBe(COMPOSED_BYTES);
    expect(rejected.size).toBeGreaterThan(4);
    expect([...cloud().objects.keys()].filter((name) => name.endsWith('.dropforge-part'))).toEqual([]);
  });

  it('is saved although its uploads are rejected at first', async () => {
    configure(cloud(), [await makeSdist(SAVES_TWO_FILES)], savesAtTheEnd);
    let rejections = 0;
    cloud().intercept = (request) => {
      rejections += isUploadOf('second', request) ? 1 : 0;
      return isUploadOf('second', request) && rejections <= 3 ? forbidden() : undefined;
    };

    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

    expect(committedNames()).toEqual(['first', 'second']);
  });

  it('is committed although uploads of the manifest are rejected at first', async () => {
    configure(cloud(), [await makeSdist(SAVES_TWO_FILES)], savesAtTheEnd);
    let rejections = 0;
    cloud().intercept = (request) => {
      const isManifest = savedBytes('second') !== undefined && isUploadOf('dropforge-manifest.json', request);
      rejections += isManifest ? 1 : 0;
      return isManifest && rejections <= 2 ? forbidden() : undefined;
    };

    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

    expect(committedNames()).toEqual(['first', 'second']);
  });

  it('is saved except for one file that cannot be uploaded before the time is over', async () => {
    configure(cloud(), [await makeSdist(SAVES_TWO_FILES)], (config) => savesAtTheEnd(config, 2));
    cloud().intercept = (request) => (isUploadOf('first', request) ? new Response('busy', { status: 503 }) : undefined);

    const report = await ended(machine().boot());

    expect(report).toMatchObject({ reason: 'JOB_DIR_UNWRITABLE', exitCode: 0 });
    expect(report.message).toContain('first: POST');
    expect(committedNames()).toEqual(['second']);
  });

  it('is retried for a shorter time after a program that was stopped', async () => {
    configure(cloud(), [await makeSdist(`${SAVES_TWO_FILES}${WAITS_FOR_GO}`)], (config) => {
      const { limits, intervals } = savesAtTheEnd(config, 600);
      return { limits: { ...limits, controlPlaneTimeoutSeconds: 2 }, intervals };
    });
    const isWritten = () => existsSync(join(machine().home, 'output', 'second'));
    cloud().answerHeartbeat = () => ({ command: isWritten() ? 'STOP' : 'CONTINUE', reason: null });
    cloud().intercept = (request) => (isUploadOf('second', request) ? forbidden() : undefined);

    const report = await ended(machine().boot());

    expect(report).toMatchObject({ reason: 'STOPPED', signal: 15 });
    expect(report.message).toContain('second: Cloud Storage answered 403');
    expect(committedNames()).toEqual(['first']);
  });
});

it('a checkpoint that a program was rewriting when it was killed stays in its last complete version', async () => {
  const task = `
import os, sys, time
out = os.environ['DROPFORGE_OUTPUT_DIR']
for name in ('checkpoint', 'optimizer'):
    open(out + '/' + name, 'w').write('complete')
while not os.path.exists(out + '/go'):
    time.sleep(0.02)
open(out + '/optimizer', 'w').write('newer')
file = open(out + '/checkpoint', 'w')
file.write('ha')
file.flush()
open(out + '/result', 'w').write('of minutes ago')
os.utime(out + '/result', (time.time() - 300, time.time() - 300))
open(out + '/written', 'w').close()
time.sleep(60)
`;
  configure(cloud(), [await makeSdist(task)]);
  cloud().answerHeartbeat = () => {
    const isHalfWritten = existsSync(join(machine().home, 'output', 'written'));
    return { command: isHalfWritten ? 'STOP' : 'CONTINUE', reason: null };
  };
  const vm = machine().boot();
  await until(() => isCommitted('checkpoint') && isCommitted('optimizer'), vm);
  writeOutput('go', '');

  expect(await ended(vm)).toMatchObject({ reason: 'STOPPED', signal: 15 });

  expect([savedText('checkpoint'), savedText('optimizer'), savedText('result')]).toEqual([
    'complete',
    'complete',
    'of minutes ago',
  ]);
  expect(isCommitted('checkpoint') && isCommitted('optimizer') && isCommitted('result')).toBe(true);
});

describe('a checkpoint that is overwritten during its upload', () => {
  it('is committed as it was when the upload began, with the file that points to it', async () => {
    configure(cloud(), [await makeSdist(WAITS_FOR_GO)]);
    const vm = machine().boot();
    await until(() => cloud().heartbeats.some(({ phase }) => phase === 'RUNNING'), vm);
    writeOutput('checkpoint', Buffer.alloc(MODEL_BYTES, 1));
    writeOutput('pointer', 'to checkpoint 1');
    await until(() => isCommitted('checkpoint') && isCommitted('pointer'), vm);
    let isOverwritten = false;
    let whileUploading: string | undefined;
    cloud().intercept = (request) => {
      if (!isOverwritten && isUploadOf('checkpoint', request)) {
        writeOutput('checkpoint', Buffer.alloc(MODEL_BYTES, 3));
        writeOutput('pointer', 'to checkpoint 3');
        isOverwritten = true;
      }
      if (isOverwritten && isUploadOf('dropforge-manifest.json', request)) {
        whileUploading ??= `${objectOf('checkpoint')?.body.at(-1)}, ${objectOf('pointer')?.body.toString()}`;
      }
      return undefined;
    };

    writeOutput('checkpoint', Buffer.alloc(MODEL_BYTES, 2));
    writeOutput('pointer', 'to checkpoint 2');
    await until(() => whileUploading !== undefined, vm);

    expect(whileUploading).toBe('2, to checkpoint 2');
    await until(() => savedText('pointer') === 'to checkpoint 3' && isCommitted('pointer'), vm);
    expect(objectOf('checkpoint')?.body.equals(Buffer.alloc(MODEL_BYTES, 3))).toBe(true);
    writeOutput('go', '');
    expect(await ended(vm)).toMatchObject({ reason: 'EXITED', exitCode: 0 });
  });
});
