import { it } from 'vitest';
import { startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { trainTemplate } from '../support/e2e/train-template.ts';
import { openFrameworkEnvironment, selectInstalled } from '../support/frameworks/framework-environment.ts';

const RUN_MS_MAX = 600_000;

const environment = await openFrameworkEnvironment();
const python = environment.python ?? 'python3';

it.each(selectInstalled(environment, [{ template: 'pytorch', epochs: 100, requires: ['torch'] }]))(
  'the program of `init $template` passes its test, and resumes with `run .` after a preemption',
  { timeout: RUN_MS_MAX },
  async ({ template, epochs }) => {
    const cloud = await startCloudUnderTest({
      machineImages: [{ name: 'frameworks', python }],
      preemptionNoticeSeconds: 5,
    });
    try {
      await trainTemplate(cloud, { template, python, epochs });
    } finally {
      await cloud.stop();
    }
  },
);
