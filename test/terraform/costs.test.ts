import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { readVmSettings } from '#infra/google-cloud/compose/vm-settings.ts';
import { NO_RIGHTS } from '#shared/protocol/job-rights.ts';
import { describeAppliedRoot } from '../support/terraform/applied-root.ts';
import { describeCosts } from '../support/terraform/costs.ts';

/** The heartbeat interval depends on none of them. */
const SETTINGS = {
  LOGGING_ENDPOINT: undefined,
  SECRET_MANAGER_ENDPOINT: undefined,
  AGENT_URI: { uri: `gs://p-sources/agent/${'ab'.repeat(32)}.pyz`, sha256: 'ab'.repeat(32) },
  CACHE_BUCKET: undefined,
  JOB_RIGHTS: NO_RIGHTS,
  REGISTRIES: {},
  VMS_MAX: 100,
  USD_PER_HOUR_MAX: undefined,
  STORAGE_EMULATOR_HOST: undefined,
  PROJECT_ID: 'p',
  HEARTBEAT_URL: 'https://heartbeat.test',
  HEARTBEAT_AUDIENCE: 'https://heartbeat.test',
} as const;

describeAppliedRoot(({ all, configOf, find }) => {
  it('costs what docs/costs.md says, by the settings that are deployed', async () => {
    const vm = await readVmSettings(SETTINGS);
    const schedules = all('google_cloud_scheduler_job').map(({ key, values }) => `${key} ${values.schedule}`);
    const minutesOf = (name: string) => Number(new RegExp(`^${name} \\*/(\\d+) `, 'm').exec(schedules.join('\n'))?.[1]);
    const lines = describeCosts({
      functionOf(name) {
        const { available_memory: memory, available_cpu: cpu } = configOf(name);
        // If it is not set, the provider computes it.
        return { memory: String(memory), cpu: Number.isNaN(Number(cpu)) ? null : String(cpu) };
      },
      watchMinutes: minutesOf('tick'),
      sweepMinutes: minutesOf('sweep'),
      heartbeatSeconds: vm.intervals.heartbeatSeconds,
      replacedDays: replacedDaysOf(find('google_storage_bucket', 'jobs').lifecycle_rule),
    });
    const page = await readFile(new URL('../../docs/costs.md', import.meta.url), 'utf8');
    expect(lines.filter((line) => !page.includes(line))).toEqual([]);
  });
});

type Rule = { readonly condition: readonly { readonly days_since_noncurrent_time?: number }[] };

/** The shortest time after which the bucket deletes replaced versions. */
function replacedDaysOf(rules: unknown): number {
  const days = (rules as readonly Rule[]).map(
    ({ condition: [condition] }) => condition?.days_since_noncurrent_time ?? 0,
  );
  return Math.min(...days.filter((value) => value > 0));
}
