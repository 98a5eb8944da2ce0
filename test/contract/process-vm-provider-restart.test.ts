import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  CONFIG,
  isDead,
  openVmCloudUnderTest,
  PLACE,
  readPids,
  type VmCloudUnderTest,
} from '../support/contract/vm-cloud-under-test.ts';
import { vmRequest } from './vm-provider.contract.ts';

describe('the VMs of a restarted embedded cloud', () => {
  let cloud: VmCloudUnderTest;

  beforeEach(async () => {
    cloud = await openVmCloudUnderTest();
  });
  afterEach(() => cloud.destroy());

  it('fail in a zone with an injected stockout, with the zones that have capacity, until it is cleared', async () => {
    cloud.vms().setStockout('local1-a', true);
    await cloud.reopen();
    expect(await cloud.vms().create(vmRequest(PLACE, 'late'))).toMatchObject({
      outcome: 'FAILED',
      failure: { cause: { code: 'STOCKOUT' }, zonesAvailable: ['local1-b'] },
    });

    cloud.vms().setStockout('local1-a', false);
    expect(await cloud.vms().create(vmRequest(PLACE, 'late'))).toMatchObject({ outcome: 'CREATED' });
  });

  it('survive a kill of the cloud, and are recovered with the same metadata server', async () => {
    const request = {
      ...vmRequest(PLACE, 'survivor'),
      metadata: { 'startup-script': 'echo $GCE_METADATA_HOST $$; sleep 300' },
    };
    const fixture = fileURLToPath(new URL('../support/contract/vm-cloud-process.ts', import.meta.url));
    const args = [fixture, cloud.directory, JSON.stringify(CONFIG), JSON.stringify(request)];
    await cloud.shut();
    const victim = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const created = JSON.parse(String((await once(victim.stdout, 'data'))[0]));
    victim.kill('SIGKILL');
    await once(victim, 'exit');
    await cloud.open();

    expect(await cloud.vms().list()).toMatchObject([{ instanceId: created.instanceId, status: 'RUNNING' }]);
    expect(await cloud.vms().create(request)).toEqual(created);
    await expect.poll(() => cloud.vms().serialPort(request.vmName)).toMatch(/\n/);
    const [host, pid] = String(await cloud.vms().serialPort(request.vmName))
      .trim()
      .split(' ');
    const answer = await fetch(`http://${host}/computeMetadata/v1/instance/id`, {
      headers: { 'Metadata-Flavor': 'Google' },
    });
    expect(await answer.text()).toBe(created.instanceId);
    process.kill(Number(pid), 'SIGKILL');
    await expect.poll(() => cloud.statusOf('survivor')).toBe('TERMINATED');
  });

  it('are recovered by their own pid file if the cloud crashed before storing their pid', async () => {
    const vm = await cloud.boot('orphan', 'echo $$ > "$DROPFORGE_HOME/pids"; sleep 300');
    const pids = await readPids(join(vm.disk, 'pids'), 1);
    await cloud.reopen(() => ({ leader: null, status: 'STARTING' }));

    expect(await cloud.vms().list()).toMatchObject([{ instanceId: vm.instanceId, status: 'RUNNING' }]);
    expect(await cloud.vms().delete(vm)).toBe('GONE');
    expect(pids.map(isDead)).toEqual([true]);
  });

  it('are created again if the cloud crashed before starting their first process', async () => {
    const vm = await cloud.boot('unborn', 'sleep 300');
    await cloud.vms().hostError(vm.vmName);
    await cloud.reopen(() => ({ leader: null, status: 'STARTING' }));

    expect(await cloud.vms().list()).toEqual([]);
    expect(await readdir(join(cloud.directory, 'vms'))).toEqual([]);
    expect(await cloud.vms().create(vm)).not.toEqual({ outcome: 'CREATED', instanceId: vm.instanceId });
  });

  it('are TERMINATED if they ended while no cloud was running, and the interruption is published', async () => {
    const vm = await cloud.boot('forgotten', 'echo $$ > "$DROPFORGE_HOME/pids"; sleep 300');
    const [pid] = await readPids(join(vm.disk, 'pids'), 1);
    await cloud.shut();
    process.kill(Number(pid), 'SIGKILL');
    await expect.poll(() => isDead(Number(pid))).toBe(true);
    await cloud.open();

    expect(await cloud.statusOf('forgotten')).toBe('TERMINATED');
    await expect.poll(() => cloud.interruptions()).toEqual([`${vm.vmName} compute.instances.guestTerminate`]);
  });

  it('are deleted by the next cloud if a crash interrupted their deletion', async () => {
    const vm = await cloud.boot('halfway', 'echo $$ > "$DROPFORGE_HOME/pids"; sleep 300');
    const pids = await readPids(join(vm.disk, 'pids'), 1);
    await cloud.reopen(() => ({ status: 'STOPPING' }));

    await expect.poll(() => cloud.statusOf('halfway')).toBe('');
    expect(pids.map(isDead)).toEqual([true]);
  });

  it('never kill an unrelated process that reuses their pid', async () => {
    const stranger = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' });
    const vm = await cloud.boot('mistaken', 'sleep 300');
    await cloud.vms().hostError(vm.vmName);
    await cloud.reopen(({ leader }) => ({
      leader: { pid: Number(stranger.pid), start: `${leader?.start}0` },
      status: 'RUNNING',
    }));

    expect(await cloud.statusOf('mistaken')).toBe('TERMINATED');
    expect(await cloud.vms().delete(vm)).toBe('GONE');
    expect(isDead(Number(stranger.pid))).toBe(false);
    stranger.kill('SIGKILL');
  });

  it('leave no files or processes when the cloud is closed with its VMs', async () => {
    const vm = await cloud.boot('last', 'echo $$ > "$DROPFORGE_HOME/pids"; sleep 300');
    const pids = await readPids(join(vm.disk, 'pids'), 1);
    await cloud.vms().close({ isKeepingVms: false });

    expect(pids.map(isDead)).toEqual([true]);
    expect(cloud.records()).toEqual([]);
  });

  it('are terminated if another process uses the port of their metadata server', async () => {
    const vm = await cloud.boot('mute', 'echo $$ > "$DROPFORGE_HOME/pids"; sleep 300');
    const pids = await readPids(join(vm.disk, 'pids'), 1);
    const port = Number(cloud.records()[0]?.metadataPort);
    await cloud.shut();
    const squatter = createServer().listen(port, '127.0.0.1');
    await once(squatter, 'listening');
    await cloud.open();
    squatter.close();

    expect(await cloud.statusOf('mute')).toBe('TERMINATED');
    expect(pids.map(isDead)).toEqual([true]);
    expect(cloud.interruptions()).toEqual([
      expect.stringMatching(/^LOG .*metadata server.*EADDRINUSE/),
      `${vm.vmName} compute.instances.hostError`,
    ]);
  });

  it('are deleted immediately if their maximum run time has passed meanwhile', async () => {
    const vm = await cloud.boot('overdue', 'echo $$ > "$DROPFORGE_HOME/pids"; sleep 300');
    const pids = await readPids(join(vm.disk, 'pids'), 1);
    await cloud.reopen(() => ({ deleteAt: 1 }));

    await expect.poll(() => cloud.statusOf('overdue')).toBe('');
    expect(pids.map(isDead)).toEqual([true]);
  });
});
