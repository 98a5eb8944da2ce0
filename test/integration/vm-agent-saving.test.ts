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

/** The generations that the manifest in the bucket names. */
function sealed(): Readonly<Record<string, string>> {
  const manifest: { files: Record<string, { generation: string }> } = JSON.parse(
    objectOf('dropforge-manifest.json')?.body.toString() ?? '{"files":{}}',
  );
  return Object.fromEntries(Object.entries(manifest.files).map(([name, { generation }]) => [name, generation]));
}

function sealedNames(): readonly string[] {
  return Object.keys(sealed()).sort();
}

function isSealed(name: string): boolean {
  return objectOf(name) !== undefined && sealed()[name] === String(objectOf(name)?.generation);
}

/** As a program does that keeps one checkpoint and writes it anew each time. */
function writeOutput(name: string, content: string | Buffer): void {
  writeFileSync(join(machine().home, 'output', name), content);
}

/** Nothing is saved before the program has ended. */
function savesAtTheEnd({ limits, intervals }: VmConfig, uploadSeconds: number = limits.uploadSeconds) {
  return { limits: { ...limits, uploadSeconds }, intervals: { ...intervals, syncSeconds: 600 } };
}

function isUploadOf(name: string, { method, url }: Request): boolean {
  return method === 'POST' && url.includes(`name=${JOB_DIR}%2F${name}&`);
}

function forbidden(): Response {
  return Response.json({ error: { code: 403, message: 'No permission.' } }, { status: 403 });
}

describe('what a program leaves at its end', () => {
  it.each([404, 410])('is saved though its upload session is answered with %i', async (status) => {
    configure(cloud(), [await makeSdist(SAVES_A_MODEL)], savesAtTheEnd);
    let chunks = 0;
    cloud().intercept = ({ url }) => {
      chunks += url.includes('/session/') ? 1 : 0;
      return chunks === 2 && url.includes('/session/') ? new Response('gone', { status }) : undefined;
    };

    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

    expect(savedBytes('model')).toBe(MODEL_BYTES);
    expect(sealedNames()).toEqual(['model']);
  });

  it('is saved though its first upload session keeps nothing of what it is sent', async () => {
    configure(cloud(), [await makeSdist(SAVES_A_MODEL)], savesAtTheEnd);
    let dead = '';
    cloud().intercept = ({ url }) => {
      dead = dead === '' && url.includes('/session/') ? url : dead;
      return url === dead ? new Response(null, { status: 308 }) : undefined;
    };

    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

    expect(savedBytes('model')).toBe(MODEL_BYTES);
  });

  it('is saved through the session that it has begun while the bucket is too busy for its chunks', async () => {
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

  it('is saved though the bucket refuses it for a while', async () => {
    configure(cloud(), [await makeSdist(SAVES_TWO_FILES)], savesAtTheEnd);
    let refusals = 0;
    cloud().intercept = (request) => {
      refusals += isUploadOf('second', request) ? 1 : 0;
      return isUploadOf('second', request) && refusals <= 3 ? forbidden() : undefined;
    };

    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

    expect(sealedNames()).toEqual(['first', 'second']);
  });

  it('is sealed though the manifest is refused for a while', async () => {
    configure(cloud(), [await makeSdist(SAVES_TWO_FILES)], savesAtTheEnd);
    let refusals = 0;
    cloud().intercept = (request) => {
      const isSeal = savedBytes('second') !== undefined && isUploadOf('dropforge-manifest.json', request);
      refusals += isSeal ? 1 : 0;
      return isSeal && refusals <= 2 ? forbidden() : undefined;
    };

    expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });

    expect(sealedNames()).toEqual(['first', 'second']);
  });

  it('is saved but for the one file that is out of reach until the time is over', async () => {
    configure(cloud(), [await makeSdist(SAVES_TWO_FILES)], (config) => savesAtTheEnd(config, 2));
    cloud().intercept = (request) => (isUploadOf('first', request) ? new Response('busy', { status: 503 }) : undefined);

    const report = await ended(machine().boot());

    expect(report).toMatchObject({ reason: 'JOB_DIR_UNWRITABLE', exitCode: 0 });
    expect(report.message).toContain('first: POST');
    expect(sealedNames()).toEqual(['second']);
  });

  it('is given up sooner after a program that was told to stop', async () => {
    configure(cloud(), [await makeSdist(`${SAVES_TWO_FILES}${WAITS_FOR_GO}`)], (config) => {
      const { limits, intervals } = savesAtTheEnd(config, 600);
      return { limits: { ...limits, deadManSeconds: 2 }, intervals };
    });
    const isWritten = () => existsSync(join(machine().home, 'output', 'second'));
    cloud().answerHeartbeat = () => ({ command: isWritten() ? 'STOP' : 'CONTINUE', reason: null });
    cloud().intercept = (request) => (isUploadOf('second', request) ? forbidden() : undefined);

    const report = await ended(machine().boot());

    expect(report).toMatchObject({ reason: 'STOPPED', signal: 15 });
    expect(report.message).toContain('second: Cloud Storage answered 403');
    expect(sealedNames()).toEqual(['first']);
  });
});

describe('a checkpoint that is written anew while it is uploaded', () => {
  it('leaves the last whole one in the manifest until it has come to rest, and what points to it as well', async () => {
    configure(cloud(), [await makeSdist(WAITS_FOR_GO)]);
    const vm = machine().boot();
    await until(() => cloud().heartbeats.some(({ phase }) => phase === 'RUNNING'), vm);
    writeOutput('checkpoint', Buffer.alloc(MODEL_BYTES, 1));
    writeOutput('pointer', 'to checkpoint 1');
    await until(() => isSealed('checkpoint') && isSealed('pointer'), vm);
    const whole = sealed();
    let isTorn = false;
    cloud().intercept = (request) => {
      const isLater = isTorn && (isUploadOf('checkpoint', request) || isUploadOf('pointer', request));
      if (!isTorn && request.url.includes('/session/')) {
        writeOutput('checkpoint', Buffer.alloc(MODEL_BYTES, 3));
        isTorn = true;
      }
      return isLater ? new Response('later', { status: 503 }) : undefined;
    };

    const seal = objectOf('dropforge-manifest.json')?.generation;
    writeOutput('checkpoint', Buffer.alloc(MODEL_BYTES, 2));
    writeOutput('pointer', 'to checkpoint 2');
    await until(() => isTorn && objectOf('dropforge-manifest.json')?.generation !== seal, vm);

    expect(objectOf('checkpoint')?.generation).toBeGreaterThan(Number(whole.checkpoint));
    expect(sealed()).toEqual(whole);

    cloud().intercept = () => undefined;
    await until(() => isSealed('checkpoint') && isSealed('pointer'), vm);
    expect(objectOf('checkpoint')?.body.equals(Buffer.alloc(MODEL_BYTES, 3))).toBe(true);
    writeOutput('go', '');
    expect(await ended(vm)).toMatchObject({ reason: 'EXITED', exitCode: 0 });
  });
});
