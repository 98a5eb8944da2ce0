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
    const fullLog = await readFile(new URL('../../infra/vm-agent/vm_agent/logs/full_log.py', import.meta.url), 'utf8');
    const conditions = all('google_monitoring_alert_policy').flatMap(({ values }) => conditionsOf(values.conditions));
    const subscriptions = all('google_pubsub_subscription').length;
    const functions = all('google_cloudfunctions2_function').length;
    const seriesOf = (groups: readonly string[]) =>
      groups.some((group) => group.endsWith('subscription_id'))
        ? subscriptions
        : groups.some((group) => group.endsWith('service_name'))
          ? functions
          : 1;
    const lines = describeCosts({
      functionOf(name) {
        const { available_memory: memory, available_cpu: cpu } = configOf(name);
        // If it is not set, the provider computes it.
        return { memory: String(memory), cpu: Number.isNaN(Number(cpu)) ? null : String(cpu) };
      },
      watchMinutes: minutesOf('tick'),
      sweepMinutes: minutesOf('sweep'),
      heartbeatSeconds: vm.intervals.heartbeatSeconds,
      syncSeconds: vm.intervals.syncSeconds,
      logPartSeconds: Number(/^PART_SECONDS_MAX = ([\d.]+)$/m.exec(fullLog)?.[1]),
      alertConditions: conditions.length,
      alertSeries: conditions.reduce((sum, { groups }) => sum + seriesOf(groups), 0),
      replacedDays: replacedDaysOf(find('google_storage_bucket', 'jobs').lifecycle_rule),
    });
    const page = await readFile(new URL('../../docs/costs.md', import.meta.url), 'utf8');
    expect(lines.filter((line) => !page.includes(line))).toEqual([]);
  });
});

type Condition = Readonly<Record<string, readonly { readonly aggregations?: readonly Aggregation[] }[]>>;
type Aggregation = { readonly group_by_fields?: readonly string[] | null };

/** The fields by which each condition of a policy groups its time series. */
function conditionsOf(conditions: unknown): readonly { readonly groups: readonly string[] }[] {
  return (conditions as readonly Condition[]).map(({ condition_threshold: threshold, condition_absent: absent }) => ({
    groups: [...(threshold ?? []), ...(absent ?? [])].flatMap(({ aggregations }) =>
      (aggregations ?? []).flatMap(({ group_by_fields: fields }) => fields ?? []),
    ),
  }));
}

type Rule = { readonly condition: readonly { readonly days_since_noncurrent_time?: number }[] };

/** The shortest time after which the bucket deletes replaced versions. */
function replacedDaysOf(rules: unknown): number {
  const days = (rules as readonly Rule[]).map(
    ({ condition: [condition] }) => condition?.days_since_noncurrent_time ?? 0,
  );
  return Math.min(...days.filter((value) => value > 0));
}
