import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type CloudUnderTest, jobFile, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { openFrameworkEnvironment, selectInstalled } from '../support/frameworks/framework-environment.ts';

const RUN_MS_MAX = 300_000;
const CLI = new URL('../../cli/dropforge.js', import.meta.url).pathname;
const environment = await openFrameworkEnvironment();
const python = environment.python ?? 'python3';

const WRITERS = {
  torch: `
import os
from torch.utils.tensorboard import SummaryWriter
with SummaryWriter(os.environ['AIP_TENSORBOARD_LOG_DIR']) as writer:
    for step in range(3):
        writer.add_scalar('loss', 1 / (step + 1), step)
`,
  tensorflow: `
import os
import tensorflow as tf
with tf.summary.create_file_writer(os.environ['AIP_TENSORBOARD_LOG_DIR']).as_default():
    for step in range(3):
        tf.summary.scalar('loss', 1 / (step + 1), step)
`,
};

let cloud: CloudUnderTest;
let cli: ChildProcess | undefined;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ machineImages: [{ name: 'frameworks', python }], vmsMax: 2 });
});
afterEach(async () => {
  if (cli?.exitCode === null) {
    cli.kill('SIGKILL');
    await once(cli, 'close');
  }
});
afterAll(() => cloud?.stop());

/** The port that TensorBoard prints. */
async function findUrl(child: ChildProcess): Promise<string> {
  let printed = '';
  for await (const data of child.stderr ?? []) {
    printed += String(data);
    const [url] = /http:\/\/(localhost|127\.0\.0\.1):\d+/.exec(printed) ?? [];
    if (url !== undefined) {
      child.stderr?.resume();
      return url;
    }
  }
  throw new Error(`TensorBoard has not started: ${printed}`);
}

describe('dropforge tensorboard', () => {
  it.each(
    selectInstalled(environment, [
      { writer: 'torch' as const, requires: ['torch', 'tensorboard'] },
      { writer: 'tensorflow' as const, requires: ['tensorflow-cpu', 'tensorboard'] },
    ]),
  )('shows what $writer writes to AIP_TENSORBOARD_LOG_DIR', { timeout: RUN_MS_MAX }, async ({ writer }) => {
    const jobId = `by_${writer}`;
    await cloud.upload(`${jobId}.tar.gz`, await packProgram(WRITERS[writer], jobFile(jobId)));
    expect(await cloud.awaitJob(jobId, undefined, RUN_MS_MAX)).toMatchObject({ state: 'SUCCEEDED' });
    const argv = [CLI, 'tensorboard', jobId, '--port', '0', '--data-dir', cloud.dataDir];
    const env = { ...process.env, PATH: `${dirname(python)}:${process.env['PATH']}` };
    cli = spawn(process.execPath, argv, { env, stdio: ['ignore', 'inherit', 'pipe'] });
    const url = await findUrl(cli);
    let points: readonly (readonly number[])[] = [];
    // TensorBoard loads its folder after it has started.
    for (let tries = 0; tries < 60 && points.length === 0; tries += 1) {
      const response = await fetch(`${url}/data/plugin/scalars/scalars?tag=loss&run=${jobId}/logs`);
      points = response.ok ? ((await response.json()) as number[][]) : [];
      await sleep(points.length === 0 ? 500 : 0);
    }
    expect(points.map(([, step, value]) => [step, value])).toEqual([
      [0, 1],
      [1, 0.5],
      [2, expect.closeTo(1 / 3, 6)],
    ]);
    cli.kill('SIGINT');
    await once(cli, 'close');
  });
});
