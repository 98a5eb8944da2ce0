import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeWheel } from '../support/agent/vm-agent-package.ts';
import { type CloudUnderTest, jobFile, packFiles, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

/** Packages that only this folder has: once it is empty, they can come from the cache only. */
let wheels: string;
let cloud: CloudUnderTest;

beforeAll(async () => {
  wheels = await mkdtemp(join(tmpdir(), 'dropforge-wheels-'));
  const environment = { ...process.env, PIP_NO_INDEX: '1', PIP_FIND_LINKS: wheels, PIP_CONFIG_FILE: '/dev/null' };
  cloud = await startCloudUnderTest({}, { environment });
});

afterAll(async () => {
  await cloud.stop();
  await rm(wheels, { recursive: true });
});

afterEach(withdrawAll);

async function withdrawAll(): Promise<void> {
  await Promise.all((await readdir(wheels)).map((name) => rm(join(wheels, name))));
}

async function offer(...names: readonly string[]): Promise<void> {
  for (const name of names) {
    const { name: file, body } = makeWheel(name, name, `VALUE = 'of ${name}'\n`);
    await writeFile(join(wheels, file), body);
  }
}

/** Runs a program that imports these packages, and prints a text of its own; returns its log. */
async function train(
  jobId: string,
  requirements: readonly string[],
  { text = '', job = jobFile(jobId) }: { readonly text?: string; readonly job?: object } = {},
): Promise<readonly string[]> {
  const imports = requirements.map((name) => `import ${name}\nprint(${name}.VALUE)\n`).join('');
  const quoted = requirements.map((name) => `'${name}'`).join(', ');
  const metadata = 'Metadata-Version: 2.1\nName: pkg\nVersion: 1\n';
  const files = {
    'pkg/setup.py': `from setuptools import setup\nsetup(name='pkg', version='1', packages=['trainer'], install_requires=[${quoted}])\n`,
    // A source distribution has these: without the build requirements in the image, the sources are not built.
    'pkg/PKG-INFO': metadata,
    'pkg/pkg.egg-info/PKG-INFO': metadata,
    'pkg/pkg.egg-info/requires.txt': `${requirements.join('\n')}\n`,
    'pkg/trainer/__init__.py': '',
    'pkg/trainer/task.py': `${imports}print('${text}')\n`,
    'pkg/job.json': JSON.stringify(job),
  };
  await cloud.upload(`${jobId}.tar.gz`, await packFiles(files));
  const ended = await cloud.awaitJob(jobId);
  const log = (await cloud.readLog(jobId)).map((entry) => entry.text);
  expect(ended.state, `${JSON.stringify(ended.cause)} ${log.join('\n')}`).toBe('SUCCEEDED');
  return log;
}

async function listCache(): Promise<readonly string[]> {
  const { storage, projectId } = cloud.endpoints;
  const response = await fetch(`${storage}/storage/v1/b/${projectId}-cache/o`);
  const { items = [] } = (await response.json()) as { items?: { name: string }[] };
  return items.map(({ name }) => name);
}

async function write(name: string, body: string): Promise<void> {
  const { storage, projectId } = cloud.endpoints;
  const url = `${storage}/upload/storage/v1/b/${projectId}-cache/o?uploadType=media&name=${encodeURIComponent(name)}`;
  expect((await fetch(url, { method: 'POST', body })).ok).toBe(true);
}

const RESTORED = expect.stringMatching(/^Restored the environment of \d+ packages .* from the cache in [\d.]+ s\.$/);
const INSTALLED = expect.stringMatching(/^Installed (1 package|\d+ packages) with pip in [\d.]+ s\.$/);
const STORED = expect.stringMatching(/^Stored the environment of \d+ packages in the cache/);

describe('a job whose requirements an earlier job has installed', () => {
  it('starts with them although no index has them any more, and with its own changed program', async () => {
    await offer('alpha', 'beta');
    expect(await train('first', ['alpha', 'beta'])).toEqual(expect.arrayContaining([INSTALLED, STORED]));
    await withdrawAll();

    const log = await train('second', ['beta', 'alpha'], { text: 'changed' });

    expect(log).toEqual(expect.arrayContaining([RESTORED, 'of alpha', 'of beta', 'changed']));
    expect(log).not.toContainEqual(INSTALLED);
  });

  it('installs them again if its file says so', async () => {
    await offer('alpha', 'beta');
    const job = { name: 'again', module: 'trainer.task', environmentCache: false };
    expect(await train('again', ['alpha', 'beta'], { job })).toContainEqual(INSTALLED);
  });

  it('installs a requirement that has changed', async () => {
    await offer('alpha', 'beta', 'gamma');
    const log = await train('third', ['alpha', 'beta', 'gamma']);
    expect(log).toEqual(expect.arrayContaining([INSTALLED, 'of gamma']));
    expect(log).not.toContainEqual(RESTORED);
  });

  it('starts with what was installed although another program has stored an archive beside it', async () => {
    await offer('epsilon');
    const before = await listCache();
    await train('epsilon_1', ['epsilon']);
    const [entry = ''] = (await listCache()).filter((name) => !before.includes(name));
    await write(entry.replace(/[0-9a-f]{64}\.tar$/, `${'0'.repeat(64)}.tar`), 'poison');
    expect(await train('epsilon_2', ['epsilon'])).toContainEqual(RESTORED);
  });

  it('installs them if the archive has other bytes than were stored, and stores it again', async () => {
    await offer('zeta');
    const before = await listCache();
    await train('zeta_1', ['zeta']);
    const [entry = ''] = (await listCache()).filter((name) => !before.includes(name));
    await write(entry, 'with other bytes');

    const log = await train('zeta_2', ['zeta']);

    expect(log).toEqual(expect.arrayContaining([INSTALLED, 'of zeta', STORED]));
    expect(log).toContainEqual(expect.stringContaining('The environment in the cache is not used'));
    await withdrawAll();
    expect(await train('zeta_3', ['zeta'])).toContainEqual(RESTORED);
  });
});

it('a job starts with what one of two jobs has stored that have installed the same requirements at once', async () => {
  await offer('delta');
  await Promise.all(['twin_1', 'twin_2'].map((jobId) => train(jobId, ['delta'])));
  await withdrawAll();
  expect(await train('twin_3', ['delta'])).toContainEqual(RESTORED);
});
