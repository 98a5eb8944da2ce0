import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROGRAM, startCloudForEachTest } from '../../support/cli/submit-under-test.ts';
import { runCli } from '../../support/cli/test-cloud.ts';

const { work, submit, listNames } = startCloudForEachTest();

/** A fake key in the format of Google's service account keys. */
const SERVICE_ACCOUNT = JSON.stringify({
  type: 'service_account',
  private_key_id: 'a1b2c3d4e5f60718293a4b5c6d7e8f9012345678',
  private_key: `${['-----BEGIN', 'PRIVATE KEY-----'].join(' ')}\n${'MIIEvQIBADANBgkqhkiG9w0B'.repeat(8)}\n`,
  client_email: 'trainer@lab.iam.gserviceaccount.com',
});

describe('dropforge jobs submit training', () => {
  it.each([
    [['--worker-count', '2'], /--worker-machine-type and --worker-count must be used together/],
    [['--parameter-server-machine-type', 'n1-standard-4'], /--parameter-server-count must be used together/],
    [['--worker-machine-type', 'n1-standard-4', '--worker-count', 'two'], /--worker-count two: use a whole number/],
    [['--master-image-uri=gcr.io/a/b', '--runtime-version=2.11'], /mutually exclusive: the image contains the runtime/],
    [['--tpu-tf-version', '2.1'], /--tpu-tf-version is not supported: TPUs are not supported/],
    [['--flags-file', 'f.yaml'], /--flags-file is not supported/],
    [['--project', 'elsewhere'], /does not match the cloud's project test-project/],
    [['--async', '--stream-logs'], /mutually exclusive/],
    [['--scale-tier', 'huge'], /choices are basic, standard-1/i],
    [['--labels', 'a'], /'a' is not KEY=VALUE/],
    [['--master-accelerator', 'type=t4,count=0'], /use type=TYPE,count=N/],
    [['--kms-key', 'k', '--kms-keyring', 'r'], /--kms-location and --kms-project/],
    [['--kms-location', 'global'], /--kms-location requires --kms-key/],
    [['--staging-bucket', 'gs://'], /is not a valid Cloud Storage URI/],
    [['--packages', 'dep.tar.gz,./dep.tar.gz'], /Two packages are named dep\.tar\.gz/],
  ])('reports %j as a usage error', async (flags, message) => {
    const result = await submit('one', ...PROGRAM, ...flags);
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
    expect(await listNames('uploads')).toEqual([]);
  });

  it.each([
    [['--packages', 'none.whl'], /none\.whl cannot be read/],
    [['--package-path', 'nowhere'], /nowhere cannot be read \(ENOENT\): pass the folder/],
    [['--config', 'none.yaml'], /cannot be read .*check --config/],
  ])('fails for %j, which does not exist', async (flags, message) => {
    const result = await submit('one', ...PROGRAM, ...flags);
    expect(result).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(message) });
    expect(await listNames('uploads')).toEqual([]);
  });

  it.each([
    [['--region', 'mars'], /^one was REFUSED:\n {2}- UNKNOWN_REGION \(--region\)/],
    [['--scale-tier=basic-tpu'], /UNSUPPORTED_FIELD \(--scale-tier\)/],
    [['--worker-machine-type=n1-standard-4', '--worker-count=2', '--scale-tier=custom'], /MASTER_TYPE_MISSING/],
    [['--service-account', 'me@here'], /\(--service-account\)/],
    [['--config', 'list.yaml'], /list\.yaml was REFUSED:\n {2}- NOT_A_JOB_FILE .* not a mapping of fields/],
    [['--config', 'broken.yaml'], /NOT_YAML/],
    [['--config', 'own.yaml', '--scale-tier', 'basic'], /FLAG_NOT_IN_FORM \(--scale-tier\)/],
  ])('rejects %j before anything is built or sent, without a cloud', async (flags, message) => {
    await writeFile(join(work(), 'list.yaml'), '- a\n');
    await writeFile(join(work(), 'broken.yaml'), 'a: [1\n');
    await writeFile(join(work(), 'own.yaml'), 'module: a.b\n');
    const result = await runCli(['jobs', 'submit', 'training', 'one', ...PROGRAM, ...flags], { cwd: work() });
    expect(result).toMatchObject({ code: 1, stdout: expect.stringMatching(message), stderr: '' });
    const [report] = (
      await runCli(['jobs', 'submit', 'training', 'one', '--format=json', ...PROGRAM, ...flags], { cwd: work() })
    ).json();
    expect(report).toMatchObject({ verdict: 'REFUSED', job: null });
  });

  it('does not upload a package that contains a key', async () => {
    await writeFile(join(work(), 'trainer', 'key.json'), SERVICE_ACCOUNT);
    const flags = ['one', '--package-path=trainer', '--module-name=trainer.task'];
    const { code, stdout } = await submit(...flags);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^one was REFUSED:\n {2}- CREDENTIALS_IN_PACKAGE/)]);
    expect(await listNames('jobs')).toEqual([]);
    expect(await listNames('uploads')).toEqual([]);
    // The remedy applies to every way to submit.
    expect(stdout).toContain('ignore = ["CREDENTIALS_IN_PACKAGE"] under [tool.dropforge]');
    expect(stdout).not.toContain('--ignore');
    await writeFile(
      join(work(), 'pyproject.toml'),
      '[build-system]\nrequires = ["setuptools"]\n[tool.dropforge]\nignore = ["CREDENTIALS_IN_PACKAGE"]\n',
    );
    expect((await submit(...flags)).code).toBe(0);
  });
});
