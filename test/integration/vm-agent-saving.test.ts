import { describe, expect, it } from 'vitest';
import type { VmConfig } from '#shared/protocol/vm-config.ts';
import { BUCKET, configure, JOB_DIR } from './vm-agent-cloud.ts';
import { startMachineForEachTest } from './vm-agent-machine.ts';
import { makeSdist } from './vm-agent-package.ts';

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

function savedBytes(name: string): number | undefined {
  return cloud().objects.get(`${BUCKET}/${JOB_DIR}/${name}`)?.body.length;
}

function sealedNames(): readonly string[] {
  const manifest = cloud().objects.get(`${BUCKET}/${JOB_DIR}/dropforge-manifest.json`)?.body.toString();
  return Object.keys(JSON.parse(manifest ?? '{"files":{}}').files).sort();
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
});
