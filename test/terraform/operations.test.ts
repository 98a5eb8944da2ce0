import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { readVmSettings } from '#infra/google-cloud/compose/vm-settings.ts';
import { exampleSettingsOf } from '../support/functions/example-settings.ts';
import { compileLoggingQuery } from '../support/logging/logging-query.ts';
import { readRecordedLog } from '../support/logging/recorded-log.ts';
import { type AppliedRoot, describeAppliedRoot } from '../support/terraform/applied-root.ts';
import { describeCosts } from '../support/terraform/costs.ts';
import { listQueries, readAlertSections } from '../support/terraform/runbook.ts';

const LOG = readRecordedLog();

const FUNCTIONS = new URL('../../functions/', import.meta.url);

/** The values of the runbook's placeholders in the recorded lines. */
const PLACEHOLDERS = { JOB: 'digits_1', STAGE: 'teardown', VM: 'df-digits-1-039a7oi4fq5sz-a1-master-0' };

describeAppliedRoot((root) => {
  describeCostsPage(root);
  describe('alerts', () => describeAlerts(root));
  describe('the log', () => describeLog(root));
});

/** The scenarios whose lines a query matches, and how many lines. */
function matching(query: string): Readonly<Record<string, number>> {
  const matches = compileLoggingQuery(query);
  const found = LOG.filter(({ entry }) => matches(entry));
  return Object.fromEntries(
    Object.entries(Object.groupBy(found, ({ scenario }) => scenario)).map(([scenario, entries = []]) => [
      scenario,
      entries.length,
    ]),
  );
}

type Blocks = readonly Readonly<Record<string, unknown>>[];

const first = (blocks: unknown) => (blocks as Blocks)[0] ?? {};

function describeAlerts({ all, find }: AppliedRoot) {
  const titleOf = (name: unknown) => String(name).replace(/^Dropforge: /, '');

  it('have one section of the runbook each, which they name, and no section is without an alert', () => {
    const named = all('google_monitoring_alert_policy').map(({ values }) => {
      const section = /\n\ndocs\/runbook\.md#(\S+)$/.exec(String(first(values.documentation).content))?.[1];
      return `${titleOf(values.display_name)} → ${section}`;
    });
    const sections = readAlertSections().map(({ title, anchor }) => `${title} → ${anchor}`);
    expect(named.toSorted()).toEqual(sections.toSorted());
    expect(new Set(sections).size).toBe(sections.length);
  });

  it.each(readAlertSections())('$title has a meaning, a query, two likely causes and a command', ({ text }) => {
    const [meaning = '', ...others] = text.trim().split('\n\n');
    expect(meaning).toMatch(/^[A-Z]/);
    expect(listQueries(text).length).toBeGreaterThanOrEqual(1);
    expect(text.match(/^\* /gm)).toHaveLength(2);
    expect(others.at(-1)).toMatch(/^```sh\n[^`]+\n```$/);
  });

  it('on lines of functions match their errors and malformed messages, and no dead channel', () => {
    const filterOf = (topic: string) =>
      String(first(first(find('google_monitoring_alert_policy', topic).conditions).condition_matched_log).filter);
    expect(matching(filterOf('malformed-message'))).toEqual({ 'malformed message': 1 });
    const messages = [...filterOf('malformed-message').matchAll(/"([a-z ]+)"/g)].map(([, message]) => message ?? '');
    const functions = readdirSync(FUNCTIONS).map((name) => readFileSync(new URL(name, FUNCTIONS), 'utf8'));
    expect(messages.filter((message) => !functions.join('').includes(`'${message}'`))).toEqual([]);
    expect(messages).toHaveLength(2);
    expect(matching(filterOf('function-error'))).toEqual({ 'throwing handler': 1, 'dead letter': 1 });
  });

  it('on objectives compare two windows with the burn rates of the SRE workbook', () => {
    const burns = all('google_monitoring_alert_policy').filter(({ name }) => name === 'burn');
    const found = burns.map(({ key, values }) => [
      key,
      values.combiner,
      (values.conditions as Blocks).map(({ condition_threshold: threshold }) => {
        const { filter, threshold_value: rate } = first(threshold);
        const [, objective, window] = /^select_slo_burn_rate\("google_monitoring_slo\/(.+)\/name", "(\w+)"\)$/.exec(
          String(filter),
        ) ?? [String(filter)];
        return `${objective} ${window} ${rate}`;
      }),
    ]);
    const deleted = '99 % of jobs have no VM 5 minutes after their end';
    const verdicts = '99 % of uploads and messages have a verdict within 60 seconds';
    expect(found.toSorted()).toEqual([
      ['verdicts-fast', 'AND', [`${verdicts} 3600s 14.4`, `${verdicts} 300s 14.4`]],
      ['verdicts-slow', 'AND', [`${verdicts} 21600s 6`, `${verdicts} 1800s 6`]],
      ['vms-deleted-fast', 'AND', [`${deleted} 3600s 14.4`, `${deleted} 300s 14.4`]],
      ['vms-deleted-slow', 'AND', [`${deleted} 21600s 6`, `${deleted} 1800s 6`]],
    ]);
  });
}

function describeLog({ all, find, memberOf }: AppliedRoot) {
  it.each(listQueries())('has lines for the query %s of the runbook, and others', (query) => {
    const named = query.replaceAll(/\b(JOB|STAGE|VM)\b/g, (name) => PLACEHOLDERS[name as keyof typeof PLACEHOLDERS]);
    const count = Object.values(matching(named)).reduce((sum, lines) => sum + lines, 0);
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThan(LOG.length);
  });

  it('has the story of a job in one query, with the lines of functions and of VMs', () => {
    const storyOf = (jobId: string) => {
      const matches = compileLoggingQuery(`labels.job_id="${jobId}"`);
      return LOG.filter(({ entry }) => matches(entry)).map(({ entry }) => Object(entry.jsonPayload));
    };
    const changes = storyOf('spot_1').filter(({ from, to }) => from !== to);
    expect(changes.map(({ to, cause }) => cause ?? to)).toEqual(
      'QUEUED PREPARING RUNNING PREEMPTED PREPARING RUNNING CLOSING SUCCEEDED'.split(' '),
    );
    // The line of the VM; all others are of functions.
    expect(storyOf('digits_1').filter(({ message }) => message === undefined)).toHaveLength(1);
  });

  it('is counted by metrics, each of the lines that it is about', () => {
    const filterOf = (key: string) => String(find('google_logging_metric', key).filter);
    const ended = { job: 1, 'preempted job': 1, 'late verdict and late deletion': 1, stockout: 1 };
    const kept = 'failed job with a kept VM';
    expect(
      Object.fromEntries(
        all('google_logging_metric').flatMap(({ key }) => (key === null ? [] : [[key, matching(filterOf(key))]])),
      ),
    ).toEqual({
      jobs_ended: { ...ended, [kept]: 1 },
      attempts: { ...ended, [kept]: 1 },
      start_time: { job: 1, 'preempted job': 1, [kept]: 1 },
      closing_time: ended,
      verdict_time: { ...ended, [kept]: 1, tuning: 1, 'job of a message': 1 },
      create_failures: { stockout: 4 },
      heartbeats_rejected: { [kept]: 1 },
      spending: { usage: 1 },
    });
    const [interruptions] = all('google_logging_metric').filter(({ name }) => name === 'interruptions');
    expect(matching(String(interruptions?.values.filter))).toEqual({ 'preempted job': 1 });
  });

  it('has metrics whose values are numbers in it, and whose labels have few values', () => {
    for (const { key, values } of all('google_logging_metric').filter(({ name }) => name === 'log')) {
      const matches = compileLoggingQuery(String(values.filter));
      const payloads = LOG.filter(({ entry }) => matches(entry)).map(({ entry }) => Object(entry.jsonPayload));
      const fieldOf = (extractor: unknown) => /^EXTRACT\(jsonPayload\.(\w+)\)$/.exec(String(extractor))?.[1] ?? '';
      const labels = Object.values(values.label_extractors as object).map(fieldOf);
      expect(['cause', 'reason', 'to', 'verdict', 'zone'], String(key)).toEqual(expect.arrayContaining(labels));
      expect(
        payloads.every((payload) => labels.every((label) => label in payload)),
        String(key),
      ).toBe(true);
      if (first(values.metric_descriptor).value_type === 'DISTRIBUTION') {
        const value = fieldOf(values.value_extractor);
        expect(
          payloads.map((payload) => typeof payload[value]),
          String(key),
        ).toEqual(payloads.map(() => 'number'));
      }
    }
  });

  it('is cut by the objectives at a bound of the buckets, where a distribution is exact', () => {
    const cuts = all('google_monitoring_slo').map(({ key, values }) => {
      const cut = first(first(values.request_based_sli).distribution_cut);
      const [, name] = /logging\.googleapis\.com\/user\/dropforge\/(\w+)/.exec(String(cut.distribution_filter)) ?? [];
      const metric = find('google_logging_metric', String(name));
      const { bounds } = first(first(metric.bucket_options).explicit_buckets);
      const { max } = first(cut.range);
      return [key, values.goal, max, (bounds as readonly unknown[]).includes(max)];
    });
    expect(cuts).toEqual([
      ['verdicts', 0.99, 60_000, true],
      ['vms-deleted', 0.99, 300_000, true],
    ]);
  });

  it('of functions and jobs goes to the bucket of this deployment, and to no other', () => {
    const [sink] = all('google_logging_project_sink').filter(({ name }) => name === 'logs');
    const [exclusion] = all('google_logging_project_exclusion');
    const outside = LOG.filter(({ entry }) => !compileLoggingQuery(String(sink?.values.filter))(entry));
    expect(outside.map(({ scenario }) => scenario)).toEqual(['preempted job', 'another service of the project']);
    expect(exclusion?.values.filter).toBe(sink?.values.filter);
    expect(all('google_logging_project_bucket_config').map(({ values }) => values)).toMatchObject([
      { bucket_id: 'dropforge', location: 'us-central1', retention_days: 30 },
    ]);
  });

  it('is read by api from that bucket, and from no other', () => {
    const grants = all('google_project_iam_member').filter(
      ({ values }) => values.role === 'roles/logging.viewAccessor',
    );
    expect(grants.map(({ values }) => [values.member, first(values.condition).expression])).toEqual([
      [
        memberOf('api'),
        'resource.name == "projects/my-project/locations/us-central1/buckets/dropforge/views/_AllLogs"',
      ],
    ]);
  });
}

function describeCostsPage({ all, configOf, find }: AppliedRoot) {
  it('costs what docs/costs.md says, by the settings that are deployed', async () => {
    const vm = await readVmSettings(exampleSettingsOf('provision'));
    const schedules = all('google_cloud_scheduler_job').map(({ key, values }) => `${key} ${values.schedule}`);
    const minutesOf = (name: string) => Number(new RegExp(`^${name} \\*/(\\d+) `, 'm').exec(schedules.join('\n'))?.[1]);
    const fullLog = await readFile(new URL('../../infra/vm-agent/vm_agent/logs/full_log.py', import.meta.url), 'utf8');
    const conditions = all('google_monitoring_alert_policy').flatMap(({ values }) => conditionsOf(values.conditions));
    const [uptime] = all('google_monitoring_uptime_check_config').map(({ values }) => values);
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
      alertSeries: conditions.reduce((sum, { groups }) => sum + (groups === null ? 0 : seriesOf(groups)), 0),
      uptimeRequests: (Object(uptime?.selected_regions).length * 3_600) / Number.parseInt(String(uptime?.period), 10),
      jobEntriesBytes: LOG.filter(({ scenario }) => scenario === 'job').reduce(
        (sum, { entry }) => sum + ('jsonPayload' in entry ? JSON.stringify(entry).length : 0),
        0,
      ),
      replacedDays: replacedDaysOf(find('google_storage_bucket', 'jobs').lifecycle_rule),
    });
    const page = await readFile(new URL('../../docs/costs.md', import.meta.url), 'utf8');
    expect(lines.filter((line) => !page.includes(line))).toEqual([]);
  });
}

type Condition = Readonly<Record<string, readonly { readonly aggregations?: readonly Aggregation[] }[]>>;
type Aggregation = { readonly group_by_fields?: readonly string[] | null };

/** The fields by which each condition of a policy groups its time series; null if it reads the log, which has none. */
function conditionsOf(conditions: unknown): readonly { readonly groups: readonly string[] | null }[] {
  return (conditions as readonly Condition[]).map((condition) => {
    const { condition_threshold: threshold = [], condition_absent: absent = [] } = condition;
    const queries = [...threshold, ...absent];
    const groups = queries.flatMap(({ aggregations }) =>
      (aggregations ?? []).flatMap((one) => one.group_by_fields ?? []),
    );
    return { groups: queries.length === 0 ? null : groups };
  });
}

type Rule = { readonly condition: readonly { readonly days_since_noncurrent_time?: number }[] };

/** The shortest time after which the bucket deletes replaced versions. */
function replacedDaysOf(rules: unknown): number {
  const days = (rules as readonly Rule[]).map(
    ({ condition: [condition] }) => condition?.days_since_noncurrent_time ?? 0,
  );
  return Math.min(...days.filter((value) => value > 0));
}
