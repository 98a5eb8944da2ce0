import { NO_RIGHTS } from '#shared/protocol/job-rights.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';
import { missingTerraformLine } from '#shared/use-cases/intake/checks/missing-rights.ts';

/** The settings of a deployment with one runtime in all zones. */
export const exampleIntake: IntakeSettings = {
  uploadBucket: 'uploads',
  jobsBucket: 'jobs',
  regionDefault: 'us-central1',
  runtimeVersionDefault: '2.11',
  runtimeOf: (version) =>
    version === '2.11'
      ? { name: '2.11', note: null, pythonVersion: null, gpus: null, bootDiskGib: null, architecture: 'amd64' }
      : undefined,
  runtimeVersions: ['2.11'],
  zones: null,
  vmLimits: {},
  rights: NO_RIGHTS,
  secretNames: { find: async () => ({ state: 'EXISTS' }) },
  describeMissingRight: missingTerraformLine,
  notificationChannels: [],
  keeping: { msMax: 3_600_000, costUsdMax: 20 },
  hasShellAccess: false,
  architectureOf: () => 'amd64',
  containers: { allowsRoot: true, hasEngine: async () => true },
};
