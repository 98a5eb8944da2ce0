import { afterEach, beforeEach } from 'vitest';
import {
  type MetadataServer,
  openMetadataServer,
} from '../../../infra/embedded/compute-engine/metadata-server/server.ts';
import { openVmIdentityIssuer, type VmIdentityIssuer } from '../../../infra/embedded/compute-engine/vms/identity.ts';
import { createVmMetadata } from '../../../infra/embedded/compute-engine/vms/metadata.ts';
import type { VmRecord } from '../../../infra/embedded/compute-engine/vms/table.ts';
import { type Database, openDatabase } from '../../../infra/embedded/data-dir/database.ts';

export const EMAIL = 'vm@p.iam.gserviceaccount.com';
export const INSTANCE_ID = '4570452845155348778';
export const FLAVOR = { 'Metadata-Flavor': 'Google' };

const RECORD: VmRecord = {
  request: {
    role: 'master',
    index: 0,
    vmName: 'df-job-a1-master-0',
    zone: 'us-central1-a',
    jobId: 'job',
    attempt: 1,
    machineType: 'n1-standard-4',
    accelerator: null,
    provisioningModel: 'SPOT',
    machineImage: 'python',
    bootDiskGib: 50,
    bootDiskType: 'pd-ssd',
    reservation: null,
    ...{ serviceAccount: null, subnetwork: null, networkAttachment: null, kmsKeyName: null },
    labels: {},
    capacityWaitSeconds: null,
    maxRunSeconds: 60,
    metadata: {
      'startup-script': 'exit',
      'dropforge-config': '{"a":1}',
      __proto__x: 'x',
    },
  },
  instanceId: INSTANCE_ID,
  createdAt: 1_700_000_000_000,
  status: 'RUNNING',
  leader: null,
  metadataPort: 0,
  deleteAt: 0,
  isPreempted: false,
};

/** The VM of the metadata server; changes by a test take effect immediately. */
type VmUnderTest = {
  readonly identity: VmIdentityIssuer;
  readonly root: string;
  record: VmRecord;
  now: number;
  server: MetadataServer;
};

/** Opens the metadata server of a VM for each test of a file; returns helpers for requests. */
export function openMetadataServerForEachTest() {
  const database = openDatabase(':memory:');
  let opened: VmUnderTest;

  beforeEach(async () => {
    opened = await openVm(database);
  });
  afterEach(() => opened.server.close());

  const ask = (path: string, init: RequestInit = {}) => fetch(`${opened.root}${path}`, { headers: FLAVOR, ...init });
  const read = async (path: string) => (await ask(path)).text();
  return { database, vm: () => opened, ask, read };
}

async function openVm(database: Database): Promise<VmUnderTest> {
  const state = { record: RECORD, now: Date.now() };
  const clock = { now: () => state.now };
  const identity = await openVmIdentityIssuer({ database, clock, projectId: 'p', serviceAccountEmail: EMAIL });
  const server = await openMetadataServer({
    port: 0,
    tree: createVmMetadata({ identity, clock, record: () => state.record }),
  });
  const root = `http://127.0.0.1:${server.port}/computeMetadata/v1`;
  return Object.assign(state, { identity, server, root });
}
