import { describe, expect, it } from 'vitest';
import type { FunctionName } from '#functions/index.ts';
import { HTTP_FUNCTIONS, SUBSCRIPTIONS } from '#functions/index.ts';
import { ENDPOINT_SETTINGS, readSettings, SETTINGS, SETTINGS_OF, type SettingName } from '#functions/settings.ts';
import { EXAMPLE_SETTINGS } from '../../support/functions/example-settings.ts';

const NAMES = Object.keys(SETTINGS_OF) as FunctionName[];

function problemOf(name: FunctionName, environment: Record<string, string>): string {
  const reading = readSettings(name, environment);
  return 'problem' in reading ? reading.problem : '';
}

describe('settings', () => {
  it('are listed for every function', () => {
    expect(NAMES.toSorted()).toEqual([...Object.keys(SUBSCRIPTIONS), ...HTTP_FUNCTIONS].toSorted());
  });

  it('have a description each, and are asked for by a function', () => {
    const asked = new Set<string>(Object.values(SETTINGS_OF).flat());
    for (const [name, schema] of Object.entries(SETTINGS)) {
      expect(schema.description, name).toBeTruthy();
      expect(asked, name).toContain(name);
    }
  });

  it.each(NAMES)('are enough for %s when a deployment sets those that it must', (name) => {
    expect(problemOf(name, EXAMPLE_SETTINGS)).toBe('');
  });

  it.each(NAMES)('that are missing are named by %s all at once', (name) => {
    const optional: readonly string[] = ['DISK_KMS_KEY', ...ENDPOINT_SETTINGS];
    const needed = SETTINGS_OF[name].filter((setting) => !optional.includes(setting));
    const problem = problemOf(name, {});
    expect(problem.match(/^[A-Z_]+(?= is missing)/gm)?.toSorted()).toEqual(needed.toSorted());
    expect(problem).toContain(name);
  });

  it.each<[SettingName, FunctionName, string]>([
    ['PROJECT_ID', 'watch', 'My Project hunter2'],
    ['FIRESTORE_DATABASE', 'watch', 'Hunter2!'],
    ['UPLOAD_BUCKET', 'on-upload', 'gs://hunter2'],
    ['REGION_DEFAULT', 'on-upload', 'hunter2'],
    ['ZONES', 'on-upload', 'us-central1-a, hunter2'],
    ['SUBNETWORK', 'provision', 'hunter2'],
    ['SECURE_BOOT', 'provision', 'hunter2'],
    ['DISK_KMS_KEY', 'provision', 'hunter2'],
    ['VM_SERVICE_ACCOUNT', 'heartbeat', 'hunter2'],
    ['HEARTBEAT_URL', 'provision', 'ftp://hunter2'],
    ['RUNTIME_IMAGES', 'provision', '{"hunter2":'],
    ['RUNTIME_IMAGES', 'provision', '{"hunter2":{}}'],
    ['RUNTIME_IMAGES', 'on-upload', '{"2.11":{"image":"i","pythonVersion":"hunter2"}}'],
    ['COMPUTE_ENDPOINT', 'teardown', 'hunter2'],
    ['PUBSUB_EMULATOR_HOST', 'watch', 'hunter2'],
  ])('%s that is wrong is named by %s, and its value is not repeated', (setting, name, value) => {
    const problem = problemOf(name, { ...EXAMPLE_SETTINGS, [setting]: value });
    expect(problem).toContain(`${setting} is wrong: ${SETTINGS[setting].description}`);
    expect(problem).not.toMatch(/hunter2/i);
  });

  it('name what is missing and what is wrong in one text', () => {
    const problem = problemOf('heartbeat', { ...EXAMPLE_SETTINGS, PROJECT_ID: '', VM_SERVICE_ACCOUNT: 'nobody' });
    expect(problem).toMatch(/2 cannot be used[\s\S]*PROJECT_ID is missing[\s\S]*VM_SERVICE_ACCOUNT is wrong/);
  });

  it('are read into what they mean', () => {
    const intake = readSettings('on-upload', { ...EXAMPLE_SETTINGS, ZONES: 'us-central1,europe-west4-a' });
    expect(intake).toMatchObject({
      settings: {
        ZONES: ['us-central1', 'europe-west4-a'],
        RUNTIME_IMAGES: { '2.11': { machineImages: ['tf-2-11-a', 'tf-2-11-b'], pythonVersion: '3.10' } },
      },
    });
    expect(readSettings('provision', { ...EXAMPLE_SETTINGS, SECURE_BOOT: 'true', DISK_KMS_KEY: '' })).toMatchObject({
      settings: { SECURE_BOOT: true, DISK_KMS_KEY: undefined },
    });
  });

  it('of other functions are not read', () => {
    const reading = readSettings('watch', { ...EXAMPLE_SETTINGS, SECRET: 'hunter2' });
    expect(JSON.stringify(reading)).not.toMatch(/hunter2|example-uploads/);
  });
});
