import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { STAGING_FOLDER } from '#shared/use-cases/submission/staged-upload.ts';
import { describeAppliedRoot } from '../support/terraform/applied-root.ts';

type Condition = {
  readonly age?: number;
  readonly matches_suffix?: readonly string[] | null;
  readonly matches_prefix?: readonly string[] | null;
};
type Rule = { readonly condition: readonly Condition[] };

describeAppliedRoot(({ find }) => {
  const conditionsOfJobs = () =>
    (find('google_storage_bucket', 'jobs').lifecycle_rule as readonly Rule[]).flatMap(({ condition }) => condition);

  it('deletes the parts of uploads that the agent left behind after two days', async () => {
    const agent = await readFile(new URL('../../infra/vm-agent/vm_agent/storage/upload.py', import.meta.url), 'utf8');
    const [, suffix] = /^PART_SUFFIX = '(.+)'$/m.exec(agent) ?? [];
    const bySuffix = conditionsOfJobs().filter(({ matches_suffix }) => (matches_suffix ?? []).length > 0);
    expect(bySuffix.map(({ age, matches_suffix }) => [age, matches_suffix])).toEqual([[2, [suffix]]]);
  });

  it('deletes uploads to the API that were not started after two days, and no other folder', () => {
    const byPrefix = conditionsOfJobs().filter(({ matches_prefix }) => (matches_prefix ?? []).length > 0);
    expect(byPrefix.map(({ age, matches_prefix }) => [age, matches_prefix])).toEqual([[2, [STAGING_FOLDER]]]);
  });
});
