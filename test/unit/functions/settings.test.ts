import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FUNCTION_NAMES, FUNCTIONS, type FunctionName } from '#functions/functions.ts';
import { readSettings } from '#functions/read-settings.ts';
import { ENDPOINT_SETTINGS, SETTINGS, type SettingName } from '#functions/settings.ts';
import { EXAMPLE_SETTINGS } from '../../support/functions/example-settings.ts';

const settingsOf = (name: FunctionName): readonly SettingName[] => FUNCTIONS[name].settings;

function problemOf(name: FunctionName, environment: Record<string, string>): string {
  const reading = readSettings(name, environment);
  return 'problem' in reading ? reading.problem : '';
}

describe('settings', () => {
  it('are in a table that names every entry point, and no other function', () => {
    const table = readFileSync(new URL('../../../infra/google-cloud/compose/entrypoints.ts', import.meta.url), 'utf8');
    const names = [...table.matchAll(/\bstartFunction\('([a-z-]+)', /gm)].map(([, name]) => name);
    expect(names.toSorted()).toEqual(FUNCTION_NAMES.toSorted());
  });

  it('have a description each, and are asked for by a function', () => {
    const asked = new Set<string>(FUNCTION_NAMES.flatMap(settingsOf));
    for (const [name, schema] of Object.entries(SETTINGS)) {
      expect(schema.description, name).toBeTruthy();
      expect(asked, name).toContain(name);
    }
  });

  it.each(FUNCTION_NAMES)('are enough for %s when a deployment sets those that it must', (name) => {
    expect(problemOf(name, EXAMPLE_SETTINGS)).toBe('');
  });

  it.each(FUNCTION_NAMES)('that are missing are named by %s all at once', (name) => {
    const optional: readonly string[] = [
      'RELEASE',
      'DISK_KMS_KEY',
      'CACHE_BUCKET',
      'PAGE_URL',
      'API_URL',
      'IAP_AUDIENCE',
      'NOTIFICATION_CHANNELS',
      'JOB_RIGHTS',
      'REGISTRIES',
      'CONTAINERS_AS_ROOT',
      'KEEP_ON_FAILURE_SECONDS_MAX',
      'KEEP_ON_FAILURE_COST_USD_MAX',
      'SHELL_ACCESS',
      'INTERNET_ACCESS',
      'DATA_BUCKETS',
      'VMS_MAX',
      'USD_PER_HOUR_MAX',
      ...ENDPOINT_SETTINGS,
    ];
    const needed = settingsOf(name).filter((setting) => !optional.includes(setting));
    const problem = problemOf(name, {});
    expect(problem.match(/^[A-Z_]+(?= is missing)/gm)?.toSorted()).toEqual(needed.toSorted());
    expect(problem).toContain(name);
  });

  it.each<[SettingName, FunctionName, string]>([
    ['PROJECT_ID', 'watch', 'My Project hunter2'],
    ['RELEASE', 'watch', 'hunter2'],
    ['FIRESTORE_DATABASE', 'watch', 'Hunter2!'],
    ['UPLOAD_BUCKET', 'on-upload', 'gs://hunter2'],
    ['CACHE_BUCKET', 'provision', 'gs://hunter2'],
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
    ['RUNTIME_IMAGES', 'on-upload', '{"2.11":{"image":"i","architecture":"hunter2"}}'],
    ['PAGE_URL', 'watch', 'hunter2'],
    ['NOTIFICATION_CHANNELS', 'notify', '{"team":{"kind":"slack","secret":"https://hunter2"}}'],
    ['NOTIFICATION_CHANNELS', 'on-upload', '{"Team!":{"kind":"slack","secret":"hunter2"}}'],
    ['NOTIFICATION_CHANNELS', 'notify', '{"a":{"kind":"webhook","secret":"hunter2"}}'],
    ['KEEP_ON_FAILURE_SECONDS_MAX', 'on-upload', 'hunter2'],
    ['KEEP_ON_FAILURE_COST_USD_MAX', 'api', '-2'],
    ['SHELL_ACCESS', 'api', 'hunter2'],
    ['INTERNET_ACCESS', 'api', '{"regions":["hunter2"]}'],
    ['DATA_BUCKETS', 'on-submit', 'data,gs://hunter2'],
    ['COMPUTE_ENDPOINT', 'teardown', 'hunter2'],
    ['PUBSUB_EMULATOR_HOST', 'watch', 'hunter2'],
  ])('%s that is invalid is named by %s, and its value is not repeated', (setting, name, value) => {
    const problem = problemOf(name, { ...EXAMPLE_SETTINGS, [setting]: value });
    expect(problem).toContain(`${setting} is invalid: ${SETTINGS[setting].description}`);
    expect(problem).not.toMatch(/hunter2/i);
  });

  it('are reported in one text, the missing and the invalid ones', () => {
    const problem = problemOf('heartbeat', { ...EXAMPLE_SETTINGS, PROJECT_ID: '', VM_SERVICE_ACCOUNT: 'unknown' });
    expect(problem).toMatch(/2 of its settings[\s\S]*PROJECT_ID is missing[\s\S]*VM_SERVICE_ACCOUNT is invalid/);
  });

  it('are read into what they mean', () => {
    const intake = readSettings('on-upload', { ...EXAMPLE_SETTINGS, ZONES: 'us-central1,europe-west4-a' });
    expect(intake).toMatchObject({
      settings: {
        ZONES: ['us-central1', 'europe-west4-a'],
        RUNTIME_IMAGES: {
          '2.11': { machineImages: ['tf-2-11-a', 'tf-2-11-b'], pythonVersion: '3.10', architecture: 'X86_64' },
        },
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
