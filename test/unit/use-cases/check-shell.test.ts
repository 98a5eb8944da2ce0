import { expect, it } from 'vitest';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { EMPTY_DRAFT, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { checkShell } from '#shared/use-cases/intake/check-shell.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/intake-settings.ts';
import { queuedJob } from '../../support/domain/example-job.ts';

const DRAFT: JobDraft = { ...EMPTY_DRAFT, keepOnFailure: { value: '1800s', path: 'keepOnFailure', line: 3 } };

function check(
  keepOnFailureMs: number,
  settings: Pick<IntakeSettings, 'keeping' | 'hasShellAccess'> = {},
  machine: Partial<JobSpec['replicaGroups'][0]> = {},
) {
  const { spec } = queuedJob({ keepOnFailureMs });
  const replicaGroups = [{ ...spec.replicaGroups[0], ...machine }] as const;
  return checkShell(DRAFT, { ...spec, replicaGroups }, settings);
}

it('allows to keep a VM for an hour by default', () => {
  expect(check(3_600_000)).toEqual({ problems: [], warnings: [] });
});

it('refuses a longer time, with the limit and where it is raised', () => {
  const { problems } = check(3_660_000);
  expect(problems).toMatchObject([{ code: 'KEPT_TOO_LONG', path: 'keepOnFailure', line: 3 }]);
  expect(problems[0]?.message).toBe('The job keeps its VM for 61 min after a failure; this deployment allows 60 min.');
  expect(problems[0]?.remedy).toContain('keep_on_failure_max in Terraform');
});

it('says that a deployment keeps no VMs', () => {
  const { problems } = check(60_000, { keeping: { msMax: 0, costUsdMax: 20 } });
  expect(problems[0]).toMatchObject({
    message: 'This deployment keeps no VMs after a failure.',
    remedy: expect.stringMatching(/^Remove it, or/),
  });
});

it('lets a job say that its VM is not kept, whatever the deployment allows and the machine costs', () => {
  const nothing = { problems: [], warnings: [] };
  expect(check(0, { keeping: { msMax: 0, costUsdMax: 0 } })).toEqual(nothing);
  expect(check(0, {}, { machineType: 'x9-unknown-1' })).toEqual(nothing);
});

it('compares the cost of the dearest machine of a cluster', () => {
  const { spec } = queuedJob({ keepOnFailureMs: 3_600_000 });
  const [master] = spec.replicaGroups;
  const worker = { ...master, role: 'worker', machineType: 'a3-highgpu-8g' } as const;
  const { problems } = checkShell(DRAFT, { ...spec, replicaGroups: [master, worker] }, {});
  expect(problems).toMatchObject([{ code: 'KEPT_TOO_DEAR' }]);
});

it('refuses a VM that would cost more than allowed, with the time that it may be kept', () => {
  const { problems } = check(3_600_000, {}, { machineType: 'a3-highgpu-8g' });
  expect(problems).toMatchObject([{ code: 'KEPT_TOO_DEAR', message: expect.stringContaining('allows 20.00 USD') }]);
  const minutes = Number(/Write (\d+)m or less/.exec(problems[0]?.remedy ?? '')?.[1]);
  expect(check(minutes * 60_000, {}, { machineType: 'a3-highgpu-8g' }).problems).toEqual([]);
});

it('warns of a machine without a price, whose cost cannot be compared', () => {
  expect(check(60_000, {}, { machineType: 'x9-unknown-1' }).warnings).toMatchObject([{ code: 'KEPT_PRICE_UNKNOWN' }]);
});

it('warns of a job that wants a shell where shells are off, with the line of Terraform that turns them on', () => {
  const draft: JobDraft = { ...EMPTY_DRAFT, webAccess: { value: true, path: 'enableWebAccess' } };
  const { spec } = queuedJob();
  expect(checkShell(draft, spec, {}).warnings).toMatchObject([
    { code: 'SHELL_ACCESS_OFF', remedy: expect.stringContaining('shell_access = { members') },
  ]);
  expect(checkShell(draft, spec, { hasShellAccess: true }).warnings).toEqual([]);
});
