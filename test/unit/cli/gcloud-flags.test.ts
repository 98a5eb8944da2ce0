import { describe, expect, it } from 'vitest';
import { CUSTOM_JOB_FOREIGN_FLAGS, TRAINING_FOREIGN_FLAGS } from '#cli/core/gcloud-flags.ts';
import { CUSTOM_JOB_FLAGS, SUBMIT_FLAGS } from '#cli/submit/submit-flags.ts';
import { runCli } from '../../support/cli/test-cloud.ts';

/** Every flag of gcloud's reference, alpha and beta among them; those of all commands are `--format` and `--help` here. */
const GCLOUD_WIDE =
  'access-token-file account billing-project configuration flags-file flatten impersonate-service-account log-http ' +
  'project quiet trace-token user-output-enabled verbosity';
const TRAINING =
  'async config enable-web-access job-dir kms-key kms-keyring kms-location kms-project labels master-accelerator ' +
  'master-image-uri master-machine-type module-name network package-path packages parameter-server-accelerator ' +
  'parameter-server-count parameter-server-image-uri parameter-server-machine-type python-version region ' +
  'runtime-version scale-tier service-account staging-bucket stream-logs tpu-tf-version use-chief-in-tf-config ' +
  'worker-accelerator worker-count worker-image-uri worker-machine-type';
const CUSTOM_JOB =
  'args command config display-name enable-dashboard-access enable-web-access kms-key kms-keyring kms-location ' +
  'kms-project labels network persistent-resource-id python-package-uris region service-account worker-pool-spec';

const COMMANDS = [
  { command: 'jobs submit training', names: TRAINING, flags: SUBMIT_FLAGS, foreign: TRAINING_FOREIGN_FLAGS },
  { command: 'custom-jobs create', names: CUSTOM_JOB, flags: CUSTOM_JOB_FLAGS, foreign: CUSTOM_JOB_FOREIGN_FLAGS },
] as const;

describe.each(COMMANDS)('$command', ({ command, names, flags, foreign }) => {
  it("knows every flag of gcloud's, and names it once", () => {
    const known = flags.map(({ name }) => name);
    expect(`${names} ${GCLOUD_WIDE}`.split(' ').filter((name) => !known.includes(name))).toEqual([]);
    expect(known).toEqual([...new Set(known)]);
  });

  const refused = foreign.filter(({ treatment }) => treatment === 'REFUSED').map(({ name }) => name);

  it.each(refused)('refuses --%s by its name, with the reason', async (name) => {
    const words = command === 'custom-jobs create' ? ['--display-name=a', '--config=a.yaml'] : ['a'];
    const { code, stderr } = await runCli([...command.split(' '), ...words, `--${name}=x`]);
    expect(code).toBe(2);
    expect(stderr).toContain(`error: --${name} cannot be honoured: `);
  });

  it('takes the --no- of a switch for the switch left out', async () => {
    const words = command === 'custom-jobs create' ? ['--display-name=a', '--config=a.yaml'] : ['a'];
    const switches = foreign.filter(({ value, isValueOptional }) => value === undefined || isValueOptional === true);
    const negated = switches.map(({ name }) => `--no-${name}`);
    const { stderr } = await runCli([...command.split(' '), ...words, '--dry-run', '--no-stream-logs', ...negated]);
    expect(stderr).not.toContain('unknown option');
    expect(stderr).not.toContain('FLAG_WITHOUT_EFFECT');
  });

  it('says in the help what becomes of a flag that has no meaning here', async () => {
    const { stdout } = await runCli([...command.split(' '), '--help']);
    for (const { because } of foreign) {
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain(because);
    }
  });
});

describe('a command line that was pasted as it is for gcloud', () => {
  it.each([
    [['gcloud', 'ai-platform', 'jobs', 'submit', 'training', 'a'], 'gcloud ai-platform', 'jobs submit training'],
    [
      ['gcloud', 'beta', 'ml-engine', 'jobs', 'submit', 'training', 'a'],
      'gcloud beta ml-engine',
      'jobs submit training',
    ],
    [['ai-platform', 'jobs', 'list'], 'ai-platform', 'jobs list'],
    [['gcloud', 'ai', 'custom-jobs', 'create', '--region=x'], 'gcloud ai', 'custom-jobs create'],
  ])('%j is told what to leave out', async (words, leading, command) => {
    expect(await runCli(words)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `error: This is a command line of gcloud. Leave out \`${leading}\`: \`dropforge ${command} …\`.\n`,
    });
  });

  it('is told where tuning jobs go', async () => {
    const { code, stderr } = await runCli(['gcloud', 'ai', 'hp-tuning-jobs', 'create', '--config=a.yaml']);
    expect(code).toBe(2);
    expect(stderr).toContain('`dropforge jobs submit training JOB --config FILE`');
  });
});
