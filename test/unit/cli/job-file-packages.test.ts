import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { startCloudForEachTest } from '../../support/cli/submit-under-test.ts';
import { runCli } from '../../support/cli/test-cloud.ts';

const { cloud, work, submit, listNames } = startCloudForEachTest();

const UPLOADED = /^gs:\/\/jobs\/one\/packages\/[0-9a-f]{64}\/dep\.tar\.gz$/;
const VERTEX =
  'workerPoolSpecs: [{machineSpec: {machineType: n1-standard-4}, replicaCount: 1, pythonPackageSpec: {executorImageUri: ' +
  'us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-11.py310:latest, packageUris: [dist/dep.tar.gz], pythonModule: trainer.task}}]';

async function readSent(): Promise<{ readonly jobFile: string; readonly flags: readonly string[] }> {
  const object = await cloud().store.read({ bucket: 'uploads', name: 'one/job.yaml' });
  return JSON.parse(object === undefined ? '{}' : await text(object));
}

/** Writes a job file with a package in `dist` beside it, in another folder than the caller's working directory. */
async function writeJobFile(content: string): Promise<string> {
  await mkdir(join(work(), 'project', 'dist'), { recursive: true });
  await rename(join(work(), 'dep.tar.gz'), join(work(), 'project', 'dist', 'dep.tar.gz'));
  await writeFile(join(work(), 'project', 'job.yaml'), content);
  return 'project/job.yaml';
}

describe('packages that a job file references by a relative path', () => {
  it('are uploaded from beside the job file', async () => {
    const config = await writeJobFile(
      '# Ours.\nname: one\nmodule: trainer.task\npackages: [dist/dep.tar.gz, gs://libs/q.whl] # theirs\n',
    );
    expect(await submit('--config', config)).toMatchObject({ code: 0 });
    expect(await listNames('jobs')).toEqual([expect.stringMatching(/dep\.tar\.gz$/)]);
    const { jobFile } = await readSent();
    expect(parse(jobFile).packages).toEqual([expect.stringMatching(UPLOADED), 'gs://libs/q.whl']);
    // Only their names are others in what is submitted.
    expect(jobFile).toMatch(
      /^# Ours\.\nname: one\nmodule: trainer\.task\npackages: \[.*, gs:\/\/libs\/q\.whl\] # theirs\n$/,
    );
  });

  it('are uploaded from outside the folder of the job file', async () => {
    const config = await writeJobFile('name: one\nmodule: trainer.task\npackages: [../dep.tar.gz]\n');
    await rename(join(work(), 'project', 'dist', 'dep.tar.gz'), join(work(), 'dep.tar.gz'));
    expect(await submit('--config', config)).toMatchObject({ code: 0 });
    expect(parse((await readSent()).jobFile).packages).toEqual([expect.stringMatching(UPLOADED)]);
  });

  it('are uploaded for custom jobs', async () => {
    const config = await writeJobFile(VERTEX);
    const argv = ['custom-jobs', 'create', '--display-name=one', '--region=us-central1', '--config', config];
    expect(await runCli(argv, { dataDir: cloud().dataDir, cwd: work() })).toMatchObject({ code: 0 });
    expect(parse((await readSent()).jobFile)).toMatchObject({
      workerPoolSpecs: [{ pythonPackageSpec: { packageUris: [expect.stringMatching(UPLOADED)] } }],
    });
  });

  it('are inspected before the upload', async () => {
    const config = await writeJobFile('name: one\nmodule: trainer.tusk\npackages: [dist/dep.tar.gz]\n');
    const { code, stdout } = await submit('--config', config);
    expect(code).toBe(1);
    expect(stdout).toContain('Similar names: trainer.task');
    expect(await listNames('jobs')).toEqual([]);
  });

  it('are not uploaded if flags replace them', async () => {
    const config = await writeJobFile('name: one\nmodule: trainer.task\npackages: [dist/dep.tar.gz]\n');
    expect(await submit('--config', config, '--packages', 'gs://libs/p.tar.gz')).toMatchObject({ code: 0 });
    expect(await listNames('jobs')).toEqual([]);
    expect((await readSent()).flags).toEqual(['--packages=gs://libs/p.tar.gz']);
  });

  it('remain references if they are not beside the job file', async () => {
    const config = await writeJobFile('name: one\nmodule: trainer.task\npackages: [dist/later.tar.gz]\n');
    expect(await submit('--config', config)).toMatchObject({ code: 0 });
    expect(parse((await readSent()).jobFile).packages).toEqual(['dist/later.tar.gz']);
  });
});
