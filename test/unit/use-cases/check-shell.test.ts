import { expect, it } from 'vitest';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { EMPTY_DRAFT, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';
import { checkKeptVm } from '#shared/use-cases/intake/checks/kept-vm.ts';
import { checkShellAccess } from '#shared/use-cases/intake/checks/shell-access.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { runCheck } from '../../support/use-cases/run-check.ts';

const DRAFT: JobDraft = { ...EMPTY_DRAFT, keepOnFailure: { value: '1800s', path: 'keepOnFailure', line: 3 } };

function check(
  keepOnFailureMs: number,
  settings: Partial<IntakeSettings> = {},
  machine: Partial<JobSpec['replicaGroups'][0]> = {},
) {
  const { spec } = queuedJob({ keepOnFailureMs });
  const replicaGroups = [{ ...spec.replicaGroups[0], ...machine }] as const;
  return runCheck(checkKeptVm, { draft: DRAFT, spec: { ...spec, replicaGroups } }, { intake: settings });
}

it('allows to keep a VM for an hour by default', async () => {
  expect(await check(3_600_000)).toMatchObject({ problems: [], warnings: [] });
});

it('refuses a longer time, with the limit and where it is raised', async () => {
  const { problems } = await check(3_660_000);
  expect(problems).toMatchObject([{ code: 'KEPT_TOO_LONG', path: 'keepOnFailure', line: 3 }]);
  expect(problems[0]?.message).toBe('The job keeps its VM for 61 min after a failure; this deployment allows 60 min.');
  expect(problems[0]?.remedy).toContain('keep_on_failure_max in Terraform');
});

it('says that a deployment keeps no VMs', async () => {
  const { problems } = await check(60_000, { keeping: { msMax: 0, costUsdMax: 20 } });
  expect(problems[0]).toMatchObject({
    message: 'This deployment keeps no VMs after a failure.',
    remedy: expect.stringMatching(/^Remove it, or/),
  });
});

it('lets a job say that its VM is not kept, whatever the deployment allows and the machine costs', async () => {
  const nothing = { problems: [], warnings: [] };
  expect(await check(0, { keeping: { msMax: 0, costUsdMax: 0 } })).toMatchObject(nothing);
  expect(await check(0, {}, { machineType: 'x9-unknown-1' })).toMatchObject(nothing);
});

it('compares the cost of the dearest machine of a cluster', async () => {
  const { spec } = queuedJob({ keepOnFailureMs: 3_600_000 });
  const [master] = spec.replicaGroups;
  const worker = { ...master, role: 'worker', machineType: 'a3-highgpu-8g' } as const;
  const job = { draft: DRAFT, spec: { ...spec, replicaGroups: [master, worker] as const } };
  const { problems } = await runCheck(checkKeptVm, job);
  expect(problems).toMatchObject([{ code: 'KEPT_TOO_DEAR' }]);
});

it('refuses a VM that would cost more than allowed, with the time that it may be kept', async () => {
  const { problems } = await check(3_600_000, {}, { machineType: 'a3-highgpu-8g' });
  expect(problems).toMatchObject([{ code: 'KEPT_TOO_DEAR', message: expect.stringContaining('allows 20.00 USD') }]);
  const minutes = Number(/Write (\d+)m or less/.exec(problems[0]?.remedy ?? '')?.[1]);
  expect((await check(minutes * 60_000, {}, { machineType: 'a3-highgpu-8g' })).problems).toEqual([]);
});

it('warns of a machine without a price, whose cost cannot be compared', async () => {
  const { warnings } = await check(60_000, {}, { machineType: 'x9-unknown-1' });
  expect(warnings).toMatchObject([{ code: 'KEPT_PRICE_UNKNOWN' }]);
});

it('warns of a job that wants a shell where shells are off, with the line of Terraform that turns them on', async () => {
  const draft: JobDraft = { ...EMPTY_DRAFT, webAccess: { value: true, path: 'enableWebAccess' } };
  expect((await runCheck(checkShellAccess, { draft })).warnings).toMatchObject([
    { code: 'SHELL_ACCESS_OFF', remedy: expect.stringContaining('shell_access = { members') },
  ]);
  expect((await runCheck(checkShellAccess, { draft }, { intake: { hasShellAccess: true } })).warnings).toEqual([]);
});
