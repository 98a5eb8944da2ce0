import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { describeAppliedRoot } from '../support/terraform/applied-root.ts';

type Condition = { readonly age?: number; readonly matches_suffix?: readonly string[] | null };
type Rule = { readonly condition: readonly Condition[] };

describeAppliedRoot(({ find }) => {
  it('deletes the parts of uploads that the agent left behind after two days', async () => {
    const agent = await readFile(new URL('../../infra/vm-agent/vm_agent/storage/upload.py', import.meta.url), 'utf8');
    const [, suffix] = /^PART_SUFFIX = '(.+)'$/m.exec(agent) ?? [];
    const conditions = (find('google_storage_bucket', 'jobs').lifecycle_rule as readonly Rule[]).flatMap(
      ({ condition }) => condition,
    );
    const bySuffix = conditions.filter(({ matches_suffix }) => (matches_suffix ?? []).length > 0);
    expect(bySuffix.map(({ age, matches_suffix }) => [age, matches_suffix])).toEqual([[2, [suffix]]]);
  });
});
