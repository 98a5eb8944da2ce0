import { expect, it } from 'vitest';
import { PROGRAMS } from '../clusters/programs.ts';
import { runReference, runRow } from '../clusters/run-row.ts';
import { startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { openFrameworkEnvironment } from '../support/frameworks/framework-environment.ts';
import { leaveOut } from '../support/run/leave-out.ts';

const environment = await openFrameworkEnvironment();
const program = PROGRAMS.find(({ name }) => name === 'fsdp2');

if (program === undefined || !environment.installed.has('torch')) {
  leaveOut('torch from a pip index', 'FSDP2 with torch.distributed.checkpoint on a cluster');
} else {
  it('FSDP2 on three machines continues from the shards of all, after a preemption of one', async () => {
    const cloud = await startCloudUnderTest({
      machineImages: [{ name: 'frameworks', python: environment.python ?? 'python3' }],
      timeouts: { syncMs: 1_000 },
      vmsMax: 6,
    });
    try {
      const row = { program, replicas: 3, fault: 'preempted-worker' } as const;
      const result = await runRow(cloud, row, await runReference(cloud, row));
      expect(result).toMatchObject({ state: 'SUCCEEDED', attempts: 2, problems: [] });
      expect(result.resumedStep).toBeGreaterThan(0);
    } finally {
      await cloud.stop();
    }
  });
}
