import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { VmConfig } from '#shared/protocol/vm-config.ts';
import { BUCKET, configure, JOB_DIR, until } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist } from '../support/agent/vm-agent-package.ts';

const { cloud, machine, ended } = startMachineForEachTest();

const MODEL_BYTES = 20_000_000;
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
  it.each([404, 410])('is saved although its upload session answers %i', async (status) => {
    configure(cloud(), [await makeSdist(SAVES_A_MODEL)], savesAtTheEnd);
    let chunks = 0;
    cloud().intercept = ({ url }) => {
      chunks += url.includes('/session/') ? 1 : 0;
      return chunks === 2 && url.includes('/session/') ? new Response('gone', { status }) : undefined;
    };

    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

    expect(savedBytes('model')).toBe(MODEL_BYTES);
    expect(committedNames()).toEqual(['model']);
  });

  it('is saved although its first upload session persists nothing', async () => {
    configure(cloud(), [await makeSdist(SAVES_A_MODEL)], savesAtTheEnd);
    let deadUrl = '';
    cloud().intercept = ({ url }) => {
      deadUrl = deadUrl === '' && url.includes('/session/') ? url : deadUrl;
      return url === deadUrl ? new Response(null, { status: 308 }) : undefined;
    };

    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

    expect(savedBytes('model')).toBe(MODEL_BYTES);
  });

  it('is saved in one session even if the server answers 503 to chunks', async () => {
    configure(cloud(), [await makeSdist(SAVES_A_MODEL)], (config) => savesAtTheEnd(config, 120));
    let sessions = 0;
    let chunks = 0;
    cloud().intercept = (request) => {
      const isChunk = /^bytes \d/.test(request.headers.get('content-range') ?? '');
      sessions += isUploadOf('model', request) ? 1 : 0;
      chunks += isChunk ? 1 : 0;
      return isChunk && chunks > 1 && chunks <= 6 ? new Response('busy', { status: 503 }) : undefined;
    };

    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

    expect(savedBytes('model')).toBe(MODEL_BYTES);
    expect(sessions).toBe(1);
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

describe('a checkpoint that is overwritten during its upload', () => {
  it('stays in the manifest in its last complete generation until it is stable, as do files that point to it', async () => {
    configure(cloud(), [await makeSdist(WAITS_FOR_GO)]);
    const vm = machine().boot();
    await until(() => cloud().heartbeats.some(({ phase }) => phase === 'RUNNING'), vm);
    writeOutput('checkpoint', Buffer.alloc(MODEL_BYTES, 1));
    writeOutput('pointer', 'to checkpoint 1');
    await until(() => isCommitted('checkpoint') && isCommitted('pointer'), vm);
    const complete = committed();
    let isOverwritten = false;
    cloud().intercept = (request) => {
      const isLater = isOverwritten && (isUploadOf('checkpoint', request) || isUploadOf('pointer', request));
      if (!isOverwritten && request.url.includes('/session/')) {
        writeOutput('checkpoint', Buffer.alloc(MODEL_BYTES, 3));
        isOverwritten = true;
      }
      return isLater ? new Response('later', { status: 503 }) : undefined;
    };

    const manifestGeneration = objectOf('dropforge-manifest.json')?.generation;
    writeOutput('checkpoint', Buffer.alloc(MODEL_BYTES, 2));
    writeOutput('pointer', 'to checkpoint 2');
    await until(() => isOverwritten && objectOf('dropforge-manifest.json')?.generation !== manifestGeneration, vm);

    expect(objectOf('checkpoint')?.generation).toBeGreaterThan(Number(complete.checkpoint));
    expect(committed()).toEqual(complete);

    cloud().intercept = () => undefined;
    await until(() => isCommitted('checkpoint') && isCommitted('pointer'), vm);
    expect(objectOf('checkpoint')?.body.equals(Buffer.alloc(MODEL_BYTES, 3))).toBe(true);
    writeOutput('go', '');
    expect(await ended(vm)).toMatchObject({ reason: 'EXITED', exitCode: 0 });
  });
});
