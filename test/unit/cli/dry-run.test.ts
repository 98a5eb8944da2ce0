import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from './test-cloud.ts';

let work: string;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'dropforge-dry-'));
});
afterEach(() => rm(work, { recursive: true }));

const dryRun = (...argv: string[]) =>
  runCli(['jobs', 'submit', 'training', 'one', '--dry-run', ...argv], { cwd: work });

const FLAGS = ['--module-name', 'trainer.task', '--region', 'us-central1', '--scale-tier', 'basic'];

describe('dropforge jobs submit training --dry-run', () => {
  it('shows the completed job without a cloud, and packs and reads nothing', async () => {
    const result = await dryRun(...FLAGS, '--package-path', 'trainer', '--labels', 'a=b', '--', '--epochs', '3');
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toContain('jobId: one');
    const [{ spec, problems }] = (
      await dryRun(...FLAGS, '--package-path', 'trainer', '--labels', 'a=b', '--format=json', '--', '--epochs', '3')
    ).json() as [{ spec: object; problems: object[] }];
    expect(problems).toEqual([]);
    expect(spec).toMatchObject({ jobId: 'one', labels: { a: 'b' } });
    expect(JSON.stringify(spec)).toContain('trainer.tar.gz');
    expect(JSON.stringify(spec)).toContain('"--epochs","3"');
  });

  it('lets flags beat the file', async () => {
    await writeFile(
      join(work, 'job.yaml'),
      'trainingInput: {region: europe-west4, pythonModule: a.b, packageUris: ["gs://packages/p.tar.gz"], scaleTier: BASIC}\n',
    );
    const { code, stdout } = await dryRun('--config', 'job.yaml', '--region', 'us-east1');
    expect(code).toBe(0);
    expect(stdout).toContain('us-east1');
    expect(stdout).not.toContain('europe-west4');
    expect(stdout).toContain('a.b');
  });

  it.each([
    [['--region', 'mars'], /UNKNOWN_REGION|mars/, ''],
    [['--config', 'none.yaml'], /^$/, /none\.yaml cannot be read .*check --config/],
    [['--config', 'broken.yaml'], /YAML/, ''],
  ])('refuses %j with what to mend', async (argv, stdout, stderr) => {
    await writeFile(join(work, 'broken.yaml'), 'a: [1\n');
    const flags = ['--module-name', 'a.b', '--packages', 'gs://packages/p.tar.gz', ...argv];
    expect(await dryRun(...flags)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(stdout),
      stderr: expect.stringMatching(stderr),
    });
  });
});
