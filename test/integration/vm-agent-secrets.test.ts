import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BUCKET, configure, JOB_DIR, until } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist, makeWheel } from '../support/agent/vm-agent-package.ts';

const { cloud, machine, ended } = startMachineForEachTest();

const TOKEN = 'hf_planted-in-Secret"Manager/1';
const KEY = '-----BEGIN KEY-----\nplantedline1\nplantedline2\n-----END KEY-----\n';
const FRAGMENTS = ['planted', 'BEGIN KEY'];

/** Makes Secret Manager serve these values by secret name, and answer 403 for any other. */
function serveSecrets(secrets: Readonly<Record<string, string>>): void {
  const { intercept } = cloud();
  cloud().intercept = (request) => {
    const [, secret = ''] = /\/v1\/projects\/acme\/secrets\/([^/]+)\/versions\/latest:access$/.exec(request.url) ?? [];
    const value = secrets[secret];
    if (value !== undefined) {
      return Response.json({ payload: { data: Buffer.from(value).toString('base64') } });
    }
    return request.url.endsWith(':access')
      ? Response.json({ error: { code: 403, message: 'Permission denied on resource.' } }, { status: 403 })
      : intercept(request);
  };
}

function referTo(secrets: Readonly<Record<string, string>>) {
  const versions = Object.entries(secrets).map(([variable, secret]) => [
    variable,
    `projects/acme/secrets/${secret}/versions/latest`,
  ]);
  return Object.fromEntries(versions) as Record<string, string>;
}

async function everythingOnDisk(): Promise<string> {
  const files = await readdir(machine().home, { recursive: true, withFileTypes: true });
  const texts = files
    .filter((file) => file.isFile())
    .map((file) => readFile(join(file.parentPath, file.name), 'latin1'));
  return (await Promise.all(texts)).join('\n');
}

const LEAKS = `
import hashlib, json, os, sys
token = os.environ['HF_TOKEN']
with open(os.environ['DROPFORGE_OUTPUT_DIR'] + '/proof', 'w') as file:
    file.write(hashlib.sha256((token + os.environ['KEY']).encode()).hexdigest())
print('token', token)
print(json.dumps({'message': 'the token is ' + token, 'token': token}))
print(os.environ['KEY'])
print('x' * 16380 + token)
raise ValueError('bad token ' + token)
`;

const REMEMBERS = `
import os, time
with open(os.environ['DROPFORGE_OUTPUT_DIR'] + '/seen', 'a') as file:
    file.write(str(len(os.environ['HF_TOKEN'])) + ',')
time.sleep(600)
`;

describe('a job with secrets', () => {
  it('has them in its environment, and they appear nowhere else on the VM', async () => {
    serveSecrets({ hf: TOKEN, key: KEY });
    const secrets = referTo({ HF_TOKEN: 'hf', KEY: 'key' });
    configure(cloud(), [await makeSdist(LEAKS)], () => ({ secrets }));
    const report = await ended(machine().boot());
    expect(report).toMatchObject({ reason: 'EXITED', exitCode: 1 });
    expect(report.evidence.at(-1)).toBe('ValueError: bad token ***');
    const proof = cloud().objects.get(`${BUCKET}/${JOB_DIR}/proof`)?.body.toString();
    expect(proof).toBe(createHash('sha256').update(`${TOKEN}${KEY}`).digest('hex'));
    const { logEntries, heartbeats, attributes } = cloud();
    const visible = { logEntries, heartbeats, attributes, disk: await everythingOnDisk() };
    for (const [location, content] of Object.entries(visible)) {
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      expect(
        FRAGMENTS.filter((fragment) => text.includes(fragment) || text.includes(JSON.stringify(fragment).slice(1, -1))),
        location,
      ).toEqual([]);
    }
    expect(logEntries.map(({ textPayload }) => textPayload)).toContain('token ***');
    expect(logEntries.map(({ jsonPayload }) => jsonPayload?.token)).toContain('***');
  });

  it('installs from a private index whose URL is a secret', async () => {
    const wheel = makeWheel('companion', 'companion', "VALUE = 'from the private index'\n");
    const signedIn: (string | null)[] = [];
    cloud().intercept = ({ url, headers }) => {
      if (!url.includes('/simple/companion/')) {
        return undefined;
      }
      signedIn.push(headers.get('authorization'));
      return url.endsWith('.whl')
        ? new Response(new Uint8Array(wheel.body))
        : new Response(`<a href="/simple/companion/${wheel.name}">${wheel.name}</a>`, {
            headers: { 'content-type': 'text/html' },
          });
    };
    serveSecrets({ index: `${cloud().url.replace('//', '//reader:planted-password@')}/simple/` });
    const secrets = referTo({ PIP_INDEX_URL: 'index' });
    const task = 'import companion\nprint(companion.VALUE)\n';
    const sdist = await makeSdist(task, { requires: 'companion>=1\n' });
    configure(cloud(), [sdist], () => ({ secrets }));
    const vm = machine().boot({ PIP_CONFIG_FILE: '/dev/null' });
    expect(await ended(vm)).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    expect(cloud().logEntries.some(({ textPayload }) => textPayload === 'from the private index')).toBe(true);
    expect(signedIn).toContain(`Basic ${Buffer.from('reader:planted-password').toString('base64')}`);
    expect(JSON.stringify(cloud().logEntries)).not.toContain('planted-password');
  });

  it('reads them again after a reboot, because they are on no disk', async () => {
    const seen = () => cloud().objects.get(`${BUCKET}/${JOB_DIR}/seen`)?.body.toString();
    const secrets = referTo({ HF_TOKEN: 'hf' });
    configure(cloud(), [await makeSdist(REMEMBERS)], () => ({ secrets }));
    serveSecrets({ hf: 'the first' });
    const first = machine().boot();
    await until(() => seen() === '9,', first);
    machine().cutPower();
    await once(first, 'exit');
    serveSecrets({ hf: 'the second' });
    const second = machine().boot();
    await until(() => seen() === '9,10,', second);
    cloud().answerHeartbeat = () => ({ command: 'STOP', reason: 'enough' });
    expect(await ended(second)).toMatchObject({ reason: 'STOPPED' });
  });

  it('fails with a remedy before anything is installed if one of them cannot be read', async () => {
    serveSecrets({ hf: TOKEN });
    const secrets = referTo({ HF_TOKEN: 'hf', WANDB_API_KEY: 'wandb' });
    configure(cloud(), [await makeSdist(LEAKS)], () => ({ secrets }));
    const report = await ended(machine().boot());
    expect(report.reason).toBe('SECRET_UNAVAILABLE');
    expect(report.message).toContain('Secret wandb, version latest in project acme, for WANDB_API_KEY cannot be read');
    expect(report.evidence.join('\n')).toContain('--member=serviceAccount:vm@dropforge-test.iam.gserviceaccount.com');
    expect(cloud().heartbeats.map(({ phase }) => phase)).not.toContain('INSTALLING');
  });
});
