import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { runCli } from '../cli/test-cloud.ts';
import { type CloudUnderTest, until } from './cloud-under-test.ts';

type Template = { readonly template: string; readonly python: string; readonly epochs: number };

/** Does what a new user does with a template, and preempts its VM in the middle. */
export async function trainTemplate(cloud: CloudUnderTest, { template, python, epochs }: Template): Promise<void> {
  const parent = await mkdtemp(join(tmpdir(), 'dropforge-template-'));
  const folder = join(parent, `my_${template}`);
  try {
    const written = await runCli(['init', template, folder], { cwd: parent });
    expect(written).toMatchObject({ code: 0, stdout: expect.stringContaining('dropforge run .') });
    await promisify(execFile)(python, ['-B', '-m', 'unittest'], { cwd: folder });

    const line = ['run', '.', '--format=json', '--', '--epochs', String(epochs)];
    const run = runCli(line, { cwd: folder, dataDir: cloud.dataDir });
    const running = await cloud.awaitJob(
      await until('the job', async () => ((await cloud.readJob(`my_${template}`)) ? `my_${template}` : undefined)),
      ({ replicas, state }) => (replicas[0]?.step ?? 0) >= 3 || state === 'FAILED',
    );
    await cloud.act(`/vms/${running.replicas[0]?.vmName}:preempt`);
    const { code, stdout, stderr } = await run;

    expect([code, stderr]).toEqual([0, expect.stringContaining('SUCCEEDED')]);
    expect((await cloud.readJob(`my_${template}`))?.attempts).toMatchObject([{ cause: 'PREEMPTED' }, { cause: null }]);
    expect(stdout).toMatch(/Resuming after epoch \d+\./);
    const outputs = await readdir(join(folder, 'outputs', `my_${template}`));
    expect(outputs.filter((name) => /^(model|checkpoint)\./.test(name))).toHaveLength(2);
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
}
