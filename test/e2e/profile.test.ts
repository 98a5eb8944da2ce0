import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ProfileView, profileViewSchema } from '#shared/protocol/profile-view.ts';
import { runCli } from '../support/cli/test-cloud.ts';
import { type CloudUnderTest, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { openEnvironment } from '../support/frameworks/framework-environment.ts';

/** Counts words until it is told to stop; its child does the same, behind a shell. */
const COUNTS = `
import os, subprocess, sys
def count():
    while not os.path.exists('stop'):
        words = [word.lower() for word in ('the quick Brown fox ' * 200).split()]
if len(sys.argv) > 1:
    count()
else:
    sys.exit(subprocess.call(['sh', '-c', '"$0" -u -m trainer.task child; exit $?', sys.executable]))
`;

const WAITS = `
import time
time.sleep(600)
`;

const { python, installed } = await openEnvironment(['py-spy']);
const spies = python !== undefined && installed.has('py-spy') ? [dirname(python)] : [];
if (spies.length === 0) {
  process.stdout.write('py-spy cannot be installed with pip: its test is skipped.\n');
}

const { PATH = '' } = process.env;
const OWN_PATH = PATH.split(delimiter);

function startCloud(path: string): Promise<CloudUnderTest> {
  return startCloudUnderTest({ heartbeatSeconds: 0.5 }, { environment: { ...process.env, PATH: path } });
}

async function start(cloud: CloudUnderTest, name: string, program: string): Promise<void> {
  await cloud.upload(`${name}.tar.gz`, await packProgram(program, { name, module: 'trainer.task' }));
  await cloud.awaitJob(name, ({ state }) => state === 'RUNNING');
}

const profile = (cloud: CloudUnderTest, ...argv: string[]) =>
  runCli(['profile', ...argv], { dataDir: cloud.dataDir, cwd: cloud.dataDir });

describe.each(spies)('a profile by py-spy', (folder) => {
  let cloud: CloudUnderTest;
  beforeAll(async () => {
    cloud = await startCloud([folder, ...OWN_PATH].join(delimiter));
  });
  afterAll(() => cloud.stop());

  it('is of the process that trains, below launcher and shell, and its file is in the job directory', async () => {
    await start(cloud, 'counts', COUNTS);
    const { code, stdout, stderr } = await profile(cloud, 'counts', '--seconds=3', '--format=json');
    expect([code, stderr]).toEqual([0, expect.stringContaining('Recording 3 s.')]);
    const view: ProfileView = profileViewSchema.parse(JSON.parse(stdout));
    expect(view).toMatchObject({ state: 'RECORDED', verdict: { code: 'PYTHON_BOUND' } });
    expect(view.verdict?.topFrames.map(({ name }) => name)).toContain('count');
    const file = await cloud.readObject(cloud.endpoints.jobsBucket, `counts/${view.file?.name}`);
    expect(JSON.parse(file ?? '')).toMatchObject({ $schema: 'https://www.speedscope.app/file-format-schema.json' });
    await cloud.cancel('counts');
  });
});

describe('a profile without py-spy', () => {
  let cloud: CloudUnderTest;
  beforeAll(async () => {
    cloud = await startCloud(OWN_PATH.filter((folder) => !existsSync(join(folder, 'py-spy'))).join(delimiter));
  });
  afterAll(() => cloud.stop());

  it('fails with what to install, and the program goes on', async () => {
    await start(cloud, 'waits', WAITS);
    const { code, stderr } = await profile(cloud, 'waits', '--seconds=1');
    expect([code, stderr]).toEqual([1, expect.stringContaining('Add `py-spy` to the requirements of the package')]);
    expect((await cloud.readJob('waits'))?.state).toBe('RUNNING');
    await cloud.cancel('waits');
  });
});
