import type { FunctionName } from '#functions/functions.ts';
import { readSettings, type SettingsOf } from '#functions/read-settings.ts';

/** The settings of a deployment, for all functions. */
export const EXAMPLE_SETTINGS: Readonly<Record<string, string>> = {
  PROJECT_ID: 'example-project',
  FIRESTORE_DATABASE: 'dropforge',
  RELEASE: '5e'.repeat(32),
  UPLOAD_BUCKET: 'example-uploads',
  JOBS_BUCKET: 'example-jobs',
  AGENT_URI: `gs://example-sources/agent/${'ab'.repeat(32)}.pyz`,
  CACHE_BUCKET: 'example-cache',
  REGION_DEFAULT: 'us-central1',
  ZONES: 'us-central1,europe-west4-a',
  RUNTIME_VERSION_DEFAULT: '2.11',
  SECURE_BOOT: 'false',
  SUBNETWORK: 'projects/example-project/regions/{region}/subnetworks/dropforge',
  VM_SERVICE_ACCOUNT: 'dropforge-vm@example-project.iam.gserviceaccount.com',
  HEARTBEAT_URL: 'https://heartbeat.example.org/',
  HEARTBEAT_AUDIENCE: 'https://heartbeat.example.org/',
  RUNTIME_IMAGES: JSON.stringify({
    '2.11': { machineImages: ['tf-2-11-a', 'tf-2-11-b'], image: 'tf-2-11', pythonVersion: '3.10' },
  }),
};

/** The settings of that deployment, as a function reads them. */
export function exampleSettingsOf<Name extends FunctionName>(name: Name): SettingsOf<Name> {
  const reading = readSettings(name, EXAMPLE_SETTINGS);
  if ('problem' in reading) {
    throw new Error(reading.problem);
  }
  return reading.settings;
}
