import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { agentRefOf } from '#shared/protocol/agent-ref.ts';
import { STAGING_FOLDER } from '#shared/use-cases/submission/staged-upload.ts';
import { describeAppliedRoot } from '../support/terraform/applied-root.ts';

type Condition = {
  readonly with_state?: string | null;
  readonly age?: number;
  readonly matches_suffix?: readonly string[] | null;
  readonly matches_prefix?: readonly string[] | null;
};
type Rule = { readonly action: readonly { readonly type: string }[]; readonly condition: readonly Condition[] };

describeAppliedRoot(({ all, find, environmentOf }) => {
  const conditionsOf = (key: string) =>
    (find('google_storage_bucket', key).lifecycle_rule as readonly Rule[]).flatMap(({ condition }) => condition);

  it('deletes the parts of uploads that the agent left behind after two days', async () => {
    const agent = await readFile(
      new URL('../../infra/vm-agent/vm_agent/storage/transfer/upload.py', import.meta.url),
      'utf8',
    );
    const [, suffix] = /^PART_SUFFIX = '(.+)'$/m.exec(agent) ?? [];
    const bySuffix = conditionsOf('jobs').filter(({ matches_suffix }) => (matches_suffix ?? []).length > 0);
    expect(bySuffix.map(({ age, matches_suffix }) => [age, matches_suffix])).toEqual([[2, [suffix]]]);
  });

  it('deletes after two days what is no upload or output: uploads to the API that were not started, parts of gcloud', () => {
    const byPrefix = (key: string) =>
      conditionsOf(key)
        .filter(({ matches_prefix }) => (matches_prefix ?? []).length > 0)
        .map(({ age, matches_prefix }) => [age, matches_prefix]);
    expect(byPrefix('jobs')).toEqual([[2, [STAGING_FOLDER, 'gcloud/tmp/']]]);
    expect(byPrefix('uploads')).toEqual([[2, ['gcloud/tmp/']]]);
    expect(byPrefix('sources')).toEqual([]);
  });

  it('stores the agent under its SHA-256, tells provision, and never deletes one: a running VM may read it again', () => {
    const objects = all('google_storage_bucket_object').map(({ values }) => values);
    const { bucket, name, deletion_policy } = objects.find((one) => String(one.name).startsWith('agent/')) ?? {};
    const sha256 = createHash('sha256').update('agent').digest('hex');
    expect(name).toBe(`agent/${sha256}.pyz`);
    expect(deletion_policy).toBe('ABANDON');
    expect(agentRefOf(environmentOf('provision').AGENT_URI ?? '')).toEqual({ uri: `gs://${bucket}/${name}`, sha256 });
    const rules = find('google_storage_bucket', 'sources').lifecycle_rule as readonly Rule[];
    const onLive = rules.filter(
      ({ action, condition }) =>
        action.some(({ type }) => type === 'Delete') && condition.some(({ with_state }) => with_state !== 'ARCHIVED'),
    );
    expect(onLive).toEqual([]);
  });
});
