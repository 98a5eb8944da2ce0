import { existsSync, readFileSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openFaultyZones } from '../../infra/embedded/compute-engine/vms/faulty-zones.ts';
import { SERIAL_PORT_BYTES_MAX } from '../../infra/embedded/compute-engine/vms/process.ts';
import { withOutages } from '../../infra/embedded/compute-engine/zone-outages.ts';
import { openDatabase } from '../../infra/embedded/data-dir/database.ts';
import {
  isDead,
  openVmCloudUnderTest,
  PLACE,
  readPids,
  type VmCloudUnderTest,
} from '../support/contract/vm-cloud-under-test.ts';
import { describeVmProviderContract, vmRequest } from './vm-provider.contract.ts';

describeVmProviderContract('the embedded cloud', async () => {
  const cloud = await openVmCloudUnderTest();
  const database = openDatabase(':memory:');
  const outages = openFaultyZones(database, 'zone_outages');
  return {
    ...PLACE,
    vms: withOutages(cloud.vms(), outages),
    fullZone: 'local1-full',
    setUnreachable: outages.set,
    async close() {
      await cloud.destroy();
      database.close();
    },
  };
});

describe('the VMs of the embedded cloud', () => {
  let cloud: VmCloudUnderTest;

  beforeEach(async () => {
    cloud = await openVmCloudUnderTest();
  });
  afterEach(() => cloud.destroy());

  it('give the startup script its own home, interpreter and metadata, and nothing else of the cloud', async () => {
    process.env.DROPFORGE_TEST_SECRET = 'secret';
    const vm = await cloud.boot(
      'environment',
      'cd "$DROPFORGE_HOME" && env > written && python3 -c "import json" && mv written env; sleep 60',
    );
    await expect.poll(() => existsSync(join(vm.disk, 'env'))).toBe(true);

    const environment = readFileSync(join(vm.disk, 'env'), 'utf8');
    expect(environment).not.toContain('DROPFORGE_TEST_SECRET');
    expect(environment).toMatch(/^GCE_METADATA_HOST=127\.0\.0\.1:\d+$/m);
    expect(environment).toContain(`DROPFORGE_VM=${vm.instanceId}`);
    expect(environment).toContain(`HOME=${join(vm.disk, '..', 'home')}`);
  });

  it('end with all their processes, also those that left their group, session and parent', async () => {
    const script = `
      cd "$DROPFORGE_HOME"; trap '' TERM
      sleep 300 & echo $! >> pids
      python3 -c "import os,time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open('pids','a').write(str(os.getpid()) + chr(10))
        time.sleep(300)
os._exit(0)"
      echo $$ >> pids; sleep 300; sleep 300`;
    const vm = await cloud.boot('leaver', script);
    const pids = await readPids(join(vm.disk, 'pids'), 3);
    expect(pids.map(isDead)).toEqual([false, false, false]);

    expect(await cloud.vms().delete(vm)).toBe('GONE');
    expect(pids.map(isDead)).toEqual([true, true, true]);
    expect(await readdir(join(cloud.directory, 'vms'))).toEqual([]);
  });

  it('forward SIGTERM and allow a grace period before they end', async () => {
    const saved = join(cloud.directory, 'saved');
    const vm = await cloud.boot(
      'saver',
      `trap 'sleep 0.1; echo yes > ${saved}; exit' TERM; touch "$DROPFORGE_HOME/ready"; while :; do sleep 0.02; done`,
    );
    await expect.poll(() => existsSync(join(vm.disk, 'ready'))).toBe(true);

    expect(await cloud.vms().delete(vm)).toBe('GONE');
    expect(readFileSync(saved, 'utf8')).toBe('yes\n');
  });

  it('are removed even if their program has removed write permissions', async () => {
    const vm = await cloud.boot(
      'locked',
      'mkdir -p "$DROPFORGE_HOME/a/b" && chmod 500 "$DROPFORGE_HOME/a"; touch "$DROPFORGE_HOME/ready"; sleep 60',
    );
    await expect.poll(() => existsSync(join(vm.disk, 'ready'))).toBe(true);
    expect(await cloud.vms().delete(vm)).toBe('GONE');
    expect(existsSync(vm.disk)).toBe(false);
  });

  it('are TERMINATED but listed after they power themselves off, and the interruption is published', async () => {
    const vm = await cloud.boot('quitter', 'sleep 300 & echo $! > "$DROPFORGE_HOME/pids"; poweroff; sleep 300');
    await expect.poll(() => cloud.statusOf('quitter')).toBe('TERMINATED');
    await expect.poll(() => cloud.interruptions()).toEqual([`${vm.vmName} compute.instances.guestTerminate`]);

    expect((await readPids(join(vm.disk, 'pids'), 1)).map(isDead)).toEqual([true]);
    expect(await cloud.vms().create(vm)).toEqual({ outcome: 'CREATED', instanceId: vm.instanceId });
    expect(await cloud.vms().delete(vm)).toBe('GONE');
    expect(await cloud.statusOf('quitter')).toBe('');
  });

  it('run the startup script again on the same disk after a reset', async () => {
    const vm = await cloud.boot(
      'rebooted',
      'echo "$$" >> "$DROPFORGE_HOME/pids"; echo "boot of $DROPFORGE_VM"; sleep 300',
    );
    const [first] = await readPids(join(vm.disk, 'pids'), 1);
    expect(await cloud.vms().reset(vm.vmName)).toMatchObject({ instanceId: vm.instanceId, status: 'RUNNING' });

    await readPids(join(vm.disk, 'pids'), 2);
    expect(isDead(Number(first))).toBe(true);
    await expect.poll(() => cloud.vms().serialPort(vm.vmName)).toBe(`boot of ${vm.instanceId}\n`.repeat(2));
  });

  it('receive the preemption notice before they are deleted, and may end earlier', async () => {
    const url = 'http://$GCE_METADATA_HOST/computeMetadata/v1/instance/preempted?wait_for_change=true';
    const noticed = join(cloud.directory, 'noticed');
    const vm = await cloud.boot(
      'spot',
      `touch "$DROPFORGE_HOME/ready"; python3 -c "import urllib.request as u; print(u.urlopen(u.Request('${url}&last_etag=0', headers={'Metadata-Flavor': 'Google'})).headers['ETag'])" > "$DROPFORGE_HOME/etag"
       python3 -c "import urllib.request as u; print(u.urlopen(u.Request('${url}&last_etag='+open('$DROPFORGE_HOME/etag').read().strip(), headers={'Metadata-Flavor': 'Google'})).read().decode())" > ${noticed}; poweroff`,
    );
    await expect.poll(() => sizeOf(join(vm.disk, 'etag'))).toBeGreaterThan(0);
    expect(await cloud.vms().preempt(vm.vmName)).toMatchObject({ status: 'RUNNING' });

    await expect.poll(() => cloud.statusOf('spot')).toBe('');
    expect(readFileSync(noticed, 'utf8')).toBe('TRUE\n');
    expect(cloud.interruptions()).toEqual([`${vm.vmName} compute.instances.preempted`]);
  });

  it('are deleted at the end of the preemption notice period', async () => {
    await cloud.destroy();
    cloud = await openVmCloudUnderTest({ preemptionNoticeMs: 100 });
    const vm = await cloud.boot('stubborn', 'trap "" TERM; sleep 300; sleep 300');
    await cloud.vms().preempt(vm.vmName);

    await expect.poll(() => cloud.statusOf('stubborn')).toBe('');
    expect(cloud.interruptions()).toEqual([`${vm.vmName} compute.instances.preempted`]);
  });

  it('fail without capacity with the reason: the limit of this machine, of the zone, or an injected stockout', async () => {
    await cloud.destroy();
    cloud = await openVmCloudUnderTest({
      vmsMax: 2,
      zones: [
        { name: 'local1-a', vmsMax: 1 },
        { name: 'local1-b', vmsMax: 9 },
      ],
    });
    const create = async (name: string, zone: string) => {
      const outcome = await cloud.vms().create({ ...vmRequest(PLACE, name), zone });
      return outcome.outcome === 'FAILED' ? outcome.failure.cause.message : outcome.outcome;
    };
    expect(await create('one', 'local1-a')).toBe('CREATED');
    expect(await create('two', 'local1-a')).toMatch(
      /^Zone local1-a of this embedded cloud runs at most 1 VMs at a time \(vmsMax of/,
    );
    cloud.vms().setStockout('local1-b', true);
    expect(await create('three', 'local1-b')).toContain('does not have enough resources available');
    cloud.vms().setStockout('local1-b', false);
    expect(await create('four', 'local1-b')).toBe('CREATED');
    expect(await create('five', 'local1-b')).toMatch(
      /^This machine runs at most 2 VMs at a time \(vmsMax in the configuration/,
    );
  });

  it('of a cluster are known not to fit together before any is created, and those that exist are not counted', async () => {
    await cloud.destroy();
    cloud = await openVmCloudUnderTest({ vmsMax: 9, zones: [{ name: 'local1-a', vmsMax: 2 }] });
    const requests = ['one', 'two', 'three'].map((name) => ({ ...vmRequest(PLACE, name), zone: 'local1-a' }));
    const shortage = await cloud.vms().findShortage(requests);
    expect(shortage?.cause).toMatchObject({ code: 'STOCKOUT', message: expect.stringContaining('at most 2 VMs') });
    const pair = requests.slice(0, 2);
    await Promise.all(pair.map((request) => cloud.vms().create(request)));
    expect(await cloud.vms().findShortage(pair)).toBeUndefined();
  });

  it('end immediately on a host error', async () => {
    const vm = await cloud.boot(
      'unlucky',
      `trap 'touch ${cloud.directory}/saved; exit' TERM; echo $$ > "$DROPFORGE_HOME/pids"; sleep 300`,
    );
    const pids = await readPids(join(vm.disk, 'pids'), 1);

    expect(await cloud.vms().hostError(vm.vmName)).toMatchObject({ status: 'TERMINATED' });
    expect(pids.map(isDead)).toEqual([true]);
    expect(existsSync(join(cloud.directory, 'saved'))).toBe(false);
    expect(cloud.interruptions()).toEqual([`${vm.vmName} compute.instances.hostError`]);
  });

  it('are deleted at the end of their maximum run time, whatever they do', async () => {
    const vm = await cloud.boot('endless', 'echo $$ > "$DROPFORGE_HOME/pids"; trap "" TERM; sleep 300; sleep 300', {
      maxRunSeconds: 0.3,
    });
    const pids = await readPids(join(vm.disk, 'pids'), 1);
    await expect.poll(() => cloud.statusOf('endless')).toBe('');
    expect(pids.map(isDead)).toEqual([true]);
  });

  it('keep the newest output of a flooded serial port', async () => {
    const vm = await cloud.boot('chatty', `head -c ${2 * SERIAL_PORT_BYTES_MAX} /dev/zero; echo; echo last; sleep 300`);
    const port = join(vm.disk, '..', 'serial-port.log');
    await expect
      .poll(() => readFileSync(port, 'latin1').endsWith('last\n') && sizeOf(port))
      .toBe(SERIAL_PORT_BYTES_MAX / 2);
    expect((await cloud.vms().serialPort(vm.vmName))?.endsWith('\nlast\n')).toBe(true);
  });

  it('never exceed the capacity, and release it', async () => {
    const names = ['r1', 'r2', 'r3', 'r4', 'r5', 'r6'];
    const outcomes = await Promise.all(names.map((name) => cloud.vms().create(vmRequest(PLACE, name))));
    expect(outcomes.map(({ outcome }) => outcome).filter((outcome) => outcome === 'CREATED')).toHaveLength(4);
    expect(outcomes.find(({ outcome }) => outcome === 'FAILED')).toMatchObject({
      failure: { zonesAvailable: ['local1-b'] },
    });

    const elsewhere = { ...PLACE, zone: 'local1-b' };
    expect(await cloud.vms().create(vmRequest(elsewhere, 'r7'))).toMatchObject({ outcome: 'CREATED' });
    expect(await cloud.vms().create(vmRequest(elsewhere, 'r8'))).toMatchObject({ failure: { zonesAvailable: [] } });
    const zones = cloud.records().map(({ request }) => request.zone);
    expect(zones.toSorted()).toEqual([...Array(4).fill('local1-a'), 'local1-b']);
    await cloud.vms().delete(vmRequest(PLACE, 'r1'));
    expect(await cloud.vms().create(vmRequest(elsewhere, 'r8'))).toMatchObject({ outcome: 'CREATED' });
  });

  it('fail if the interpreter of their machine image does not exist', async () => {
    expect(await cloud.vms().create(vmRequest({ ...PLACE, machineImage: 'broken' }, 'b'))).toMatchObject({
      failure: { cause: { code: 'CONFIGURATION_REFUSED', message: expect.stringContaining('/nowhere/python3') } },
    });
  });
});

function sizeOf(file: string): number {
  return existsSync(file) ? statSync(file).size : 0;
}
