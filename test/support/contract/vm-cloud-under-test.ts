import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { VmProviderConfig } from '../../../infra/embedded/compute-engine/vms/admission.ts';
import { openVmIdentityIssuer } from '../../../infra/embedded/compute-engine/vms/identity.ts';
import { findInterpreter } from '../../../infra/embedded/compute-engine/vms/process.ts';
import { readProcessStart } from '../../../infra/embedded/compute-engine/vms/process-list.ts';
import {
  type EmbeddedVmProvider,
  openProcessVmProvider,
} from '../../../infra/embedded/compute-engine/vms/process-vm-provider.ts';
import { openVmTable, type VmRecord } from '../../../infra/embedded/compute-engine/vms/table.ts';
import { type Database, openDatabase } from '../../../infra/embedded/data-dir/database.ts';
import type { VmRequest } from '../../../shared/ports/vm-provider.ts';
import { vmRequest } from '../../contract/vm-provider.contract.ts';
import { NO_GOOGLE_APIS } from '../embedded/no-google-apis.ts';

export const CONFIG = {
  zones: [
    { name: 'local1-a', vmsMax: 4 },
    { name: 'local1-b', vmsMax: 4 },
    { name: 'local1-full', vmsMax: 0 },
  ],
  machineImages: [
    { name: 'python', python: (await findInterpreter('python3', process.env)) ?? 'python3' },
    { name: 'broken', python: '/nowhere/python3' },
  ],
  vmsMax: 5,
  preemptionNoticeMs: 4_000,
  stopGraceMs: 200,
  serviceAccounts: [],
  diskReserveBytes: 0,
} satisfies VmProviderConfig;

export const PLACE = { zone: 'local1-a', machineImage: 'python' };

/** One key for all tests: generating one takes longer than most tests. */
export const IDENTITY = openVmIdentityIssuer({
  database: openDatabase(':memory:'),
  clock: { now: Date.now },
  projectId: 'p',
  serviceAccountEmail: 'vm@p.test',
});

type Opened = { readonly database: Database; readonly vms: EmbeddedVmProvider; readonly interruptions: string[] };

async function openProvider(directory: string, config: Partial<VmProviderConfig>): Promise<Opened> {
  const database = openDatabase(join(directory, 'cloud.sqlite'));
  const clock = { now: Date.now };
  const interruptions: string[] = [];
  const vms = await openProcessVmProvider({
    googleApis: NO_GOOGLE_APIS,
    database,
    directory: join(directory, 'vms'),
    clock,
    config: { ...CONFIG, ...config },
    identity: await IDENTITY,
    host: process.env,
    onInterrupted: async ({ vmName }, method) => void interruptions.push(`${vmName} ${method}`),
    writeLog: (line) => interruptions.push(`LOG ${line}`),
  });
  return { database, vms, interruptions };
}

/** The VMs of an embedded cloud in a separate directory, which can be closed and reopened. */
export type VmCloudUnderTest = Awaited<ReturnType<typeof openVmCloudUnderTest>>;

export async function openVmCloudUnderTest(config: Partial<VmProviderConfig> = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-vms-'));
  let opened = await openProvider(directory, config);

  /** Simulates a crash of the cloud: the VMs keep running, and their records are as of the last commit. */
  async function shut(change: (record: VmRecord) => Partial<VmRecord> = () => ({})): Promise<void> {
    await opened.vms.close({ isKeepingVms: true });
    const table = openVmTable(opened.database);
    for (const record of table.readAll()) {
      table.update({ ...record, ...change(record) });
    }
    opened.database.close();
  }

  return {
    directory,
    vms: () => opened.vms,
    interruptions: () => opened.interruptions,
    statusOf: async (jobId: string) => (await opened.vms.list({ jobId })).map(({ status }) => status).join(),
    records: () => openVmTable(opened.database).readAll(),
    shut,
    async open() {
      opened = await openProvider(directory, config);
    },
    async reopen(change?: (record: VmRecord) => Partial<VmRecord>) {
      await shut(change);
      opened = await openProvider(directory, config);
    },
    /** Creates a VM that runs the script; returns its disk directory too. */
    async boot(name: string, script: string, change: Partial<VmRequest> = {}) {
      const request = { ...vmRequest(PLACE, name), metadata: { 'startup-script': script }, ...change };
      const created = await opened.vms.create(request);
      const instanceId = created.outcome === 'FAILED' ? JSON.stringify(created.failure) : created.instanceId;
      return { ...request, instanceId, disk: join(directory, 'vms', `${request.vmName}-${instanceId}`, 'disk') };
    },
    async destroy() {
      await opened.vms.close({ isKeepingVms: false });
      opened.database.close();
      await rm(directory, { recursive: true });
    },
  };
}

export function isDead(pid: number): boolean {
  return readProcessStart(pid) === null;
}

/** Resolves with the pids in a file, one per line, once there are `count` of them. */
export async function readPids(file: string, count: number): Promise<readonly number[]> {
  await expect.poll(() => pidsIn(file).length).toBe(count);
  return pidsIn(file);
}

function pidsIn(file: string): readonly number[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number) : [];
}
