import { describe, expect, it } from 'vitest';
import {
  CUSTOM_JOB_GCLOUD_ONLY_FLAGS,
  TRAINING_GCLOUD_ONLY_FLAGS,
  TUNING_JOB_GCLOUD_ONLY_FLAGS,
} from '#cli/core/gcloud-flags.ts';
import { CUSTOM_JOB_FLAGS, SUBMIT_FLAGS, TUNING_JOB_FLAGS } from '#cli/submit/submit-flags.ts';
import { runCli } from '../../support/cli/test-cloud.ts';

/**
 * All flags of gcloud's reference, including alpha and beta. Of the common ones, this CLI implements `--format` and
 * `--help`.
 */
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
const TUNING_JOB =
  'algorithm config display-name enable-dashboard-access enable-web-access kms-key kms-keyring kms-location ' +
  'kms-project labels max-trial-count network parallel-trial-count region service-account';

const COMMANDS = [
  { command: 'jobs submit training', names: TRAINING, flags: SUBMIT_FLAGS, gcloudOnly: TRAINING_GCLOUD_ONLY_FLAGS },
  {
    command: 'custom-jobs create',
    names: CUSTOM_JOB,
    flags: CUSTOM_JOB_FLAGS,
    gcloudOnly: CUSTOM_JOB_GCLOUD_ONLY_FLAGS,
  },
  {
    command: 'hp-tuning-jobs create',
    names: TUNING_JOB,
    flags: TUNING_JOB_FLAGS,
    gcloudOnly: TUNING_JOB_GCLOUD_ONLY_FLAGS,
  },
] as const;

describe.each(COMMANDS)('$command', ({ command, names, flags, gcloudOnly }) => {
  it('defines every gcloud flag exactly once', () => {
    const known = flags.map(({ name }) => name);
    expect(`${names} ${GCLOUD_WIDE}`.split(' ').filter((name) => !known.includes(name))).toEqual([]);
    expect(known).toEqual([...new Set(known)]);
  });

  const rejected = gcloudOnly.filter(({ treatment }) => treatment === 'REJECTED').map(({ name }) => name);

  it.each(rejected)('rejects --%s with the reason', async (name) => {
    const words = command !== 'jobs submit training' ? ['--display-name=a', '--config=a.yaml'] : ['a'];
    const { code, stderr } = await runCli([...command.split(' '), ...words, `--${name}=x`]);
    expect(code).toBe(2);
    expect(stderr).toContain(`error: --${name} is not supported: `);
  });

  it('treats the --no- variant of a switch as the switch not being set', async () => {
    const words = command !== 'jobs submit training' ? ['--display-name=a', '--config=a.yaml'] : ['a'];
    const switches = gcloudOnly.filter(({ value, isValueOptional }) => value === undefined || isValueOptional === true);
    const negated = switches.map(({ name }) => `--no-${name}`);
    const { stderr } = await runCli([...command.split(' '), ...words, '--dry-run', '--no-stream-logs', ...negated]);
    expect(stderr).not.toContain('unknown option');
    expect(stderr).not.toContain('FLAG_WITHOUT_EFFECT');
  });

  it('explains in the help how gcloud-only flags are treated', async () => {
    const { stdout } = await runCli([...command.split(' '), '--help']);
    for (const { reason } of gcloudOnly) {
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain(reason);
    }
  });
});
