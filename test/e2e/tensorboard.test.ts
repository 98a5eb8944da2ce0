import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type CloudUnderTest,
  jobFile,
  packProgram,
  startCloudUnderTest,
  until,
} from '../support/e2e/cloud-under-test.ts';
import { openEnvironment } from '../support/frameworks/framework-environment.ts';

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
const environment = await openEnvironment(['tensorboard']);
const python = environment.python ?? 'python3';

/** Writes a point, which its writer keeps until it is flushed, and trains on. */
const PROGRAM = `
import os, time
from tensorboard.summary import Writer
writer = Writer(os.environ['AIP_TENSORBOARD_LOG_DIR'])
for step in range(1000):
    writer.add_scalar('loss', 1 / (step + 1), step)
    writer.flush()
    time.sleep(0.1)
`;

let cloud: CloudUnderTest;
beforeAll(async () => {
  cloud = await startCloudUnderTest({ machineImages: [{ name: 'tensorboard', python }] });
});
afterAll(() => cloud.stop());

/** The port that TensorBoard prints. */
async function findUrl(stderr: AsyncIterable<unknown>): Promise<string> {
  let printed = '';
  for await (const data of stderr) {
    printed += String(data);
    const [url] = /http:\/\/localhost:\d+/.exec(printed) ?? [];
    if (url !== undefined) {
      return url;
    }
  }
  throw new Error(`TensorBoard has not started: ${printed}`);
}

describe('dropforge tensorboard', () => {
  it.skipIf(!environment.installed.has('tensorboard'))(
    'prints a command that shows the curves of a job while it runs',
    { timeout: 120_000 },
    async () => {
      await cloud.upload('digits.tar.gz', await packProgram(PROGRAM, jobFile('digits')));
      await cloud.awaitJob('digits', ({ state }) => state === 'RUNNING');
      const cli = spawn(process.execPath, [CLI, 'tensorboard', 'digits', '--data-dir', cloud.dataDir]);
      const [command] = await Promise.all([text(cli.stdout), once(cli, 'exit')]);
      const env = { ...process.env, PATH: `${dirname(python)}:${process.env.PATH}` };
      const board = spawn('sh', ['-c', `exec ${command.trim()} --port 0 --reload_interval 1`], { env });
      try {
        const url = await findUrl(board.stderr.iterator({ destroyOnReturn: false }));
        board.stderr.resume();
        const points = await until('points of the curve', async () => {
          const response = await fetch(`${url}/data/plugin/scalars/scalars?tag=loss&run=logs`);
          const loaded = response.ok ? ((await response.json()) as [number, number, number][]) : [];
          return loaded.length >= 3 ? loaded : undefined;
        });
        expect(points.slice(0, 3).map(([, step, value]) => [step, value])).toEqual([
          [0, 1],
          [1, 0.5],
          [2, expect.closeTo(1 / 3, 6)],
        ]);
        expect(await cloud.readJob('digits')).toMatchObject({ state: 'RUNNING' });
      } finally {
        board.kill('SIGKILL');
        await once(board, 'close');
      }
      await cloud.cancel('digits');
      await cloud.awaitJob('digits');
    },
  );
});
