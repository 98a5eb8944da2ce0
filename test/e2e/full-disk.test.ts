import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createUser, jobFile, packProgram } from '../support/e2e/cloud-under-test.ts';

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

/** A mount namespace of its own, in which any user may mount a small file system. */
const NAMESPACE = ['-rm'];
const hasNamespaces = spawnSync('unshare', [...NAMESPACE, 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp']).status === 0;

if (!hasNamespaces) {
  leaveOut('unprivileged mount namespaces', 'a full disk');
}

/**
 * Writes until the disk is full, outside its output and in spite of errors and of SIGTERM. `pause` is the time between
 * writes of a MiB.
 */
const filler = (pause: number) => `
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
number = 0
while True:
    try:
        with open(os.path.join(os.environ['TMPDIR'], f'junk-{number}'), 'wb') as file:
            file.write(os.urandom(2 ** 20))
    except OSError:
        pass
    number += 1
    time.sleep(${pause})
`;

/** Saves a file at each step, during the time in which the disk is full. */
const NEIGHBOR = `
import os, time
output = os.environ['DROPFORGE_OUTPUT_DIR']
for step in range(80):
    with open(os.path.join(output, 'step'), 'w') as file: file.write(str(step))
    time.sleep(0.1)
`;

import { leaveOut } from '../support/run/leave-out.ts';

describe.skipIf(!hasNamespaces)('an embedded cloud whose disk is full', () => {
  let directory: string;
  let cloud: ChildProcess;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'dropforge-full-disk-'));
    const config = { diskReserveBytes: 200_000_000, vmsMax: 2, timeouts: { syncMs: 500 }, stopGraceSeconds: 1 };
    await writeFile(join(directory, 'config.yaml'), JSON.stringify(config));
    const up = `"${process.execPath}" "${CLI}" up --data-dir disk/data --config config.yaml --format=json`;
    const command = `mkdir disk && mount -t tmpfs -o size=400m tmpfs disk && exec ${up}`;
    cloud = spawn('unshare', [...NAMESPACE, 'sh', '-c', command], {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  });

  afterEach(async () => {
    cloud.kill('SIGKILL');
    await rm(directory, { recursive: true, force: true });
  });

  async function openUser() {
    const [output] = await once(cloud.stdout ?? cloud, 'data');
    return createUser(JSON.parse(String(output)));
  }

  async function awaitRecovery(user: Awaited<ReturnType<typeof openUser>>): Promise<void> {
    expect(await user.awaitJob('filler')).toMatchObject({ state: 'FAILED', cause: { code: 'DISK_FULL' }, attempt: 1 });
    await user.upload('later.tar.gz', await packProgram('print(1)', jobFile('later')));
    expect(await user.awaitJob('later')).toMatchObject({ state: 'SUCCEEDED' });
    const exited = once(cloud, 'exit');
    cloud.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  }

  it('ends the program that uses the most before the disk is full, and goes on with the others', async () => {
    const user = await openUser();
    await user.upload('neighbor.tar.gz', await packProgram(NEIGHBOR, jobFile('neighbor')));
    await user.awaitJob('neighbor', ({ state }) => state === 'RUNNING');
    await user.upload('filler.tar.gz', await packProgram(filler(0.02), jobFile('filler')));

    expect(await user.awaitJob('neighbor')).toMatchObject({ state: 'SUCCEEDED', attempt: 1 });
    await awaitRecovery(user);
  });

  it('recovers from a program that fills it faster than it can be ended', async () => {
    const user = await openUser();
    await user.upload('filler.tar.gz', await packProgram(filler(0), jobFile('filler')));

    await awaitRecovery(user);
  });
});
