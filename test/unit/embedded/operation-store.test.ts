import { beforeEach, describe, expect, it } from 'vitest';
import {
  createOperations,
  type OperationStart,
  type OperationsOptions,
  openOperationTable,
  recoverOperations,
  type WorkOutcome,
} from '#infra/embedded/compute-engine/operation-store.ts';
import type { VmRecord } from '#infra/embedded/compute-engine/vms/table.ts';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { vmRequest } from '../../contract/vm-provider.contract.ts';

const START: OperationStart = { type: 'insert', zone: 'z', vmName: 'vm', targetId: null, requestId: null };
const UNTIL_DONE = new AbortController().signal;

let options: OperationsOptions;
let faults: string[];
let now: number;

beforeEach(() => {
  faults = [];
  now = 1_000;
  const table = openOperationTable(openDatabase(':memory:'));
  options = { table, clock: { now: () => now }, reportError: ({ message }) => void faults.push(message) };
});

function vmRecord(name: string, createdAt: number): VmRecord {
  return {
    request: { ...vmRequest({ zone: 'z', machineImage: 'i' }, name), vmName: name },
    instanceId: `id of ${name}`,
    createdAt,
    status: 'RUNNING',
    leader: null,
    metadataPort: 0,
    deleteAt: 0,
    isPreempted: false,
  };
}

const unfinished = () => new Promise<WorkOutcome>(() => {});

describe('an operation', () => {
  it('runs until its work has ended, and then has its outcome', async () => {
    const operations = createOperations(options);
    const { promise, resolve } = Promise.withResolvers<WorkOutcome>();
    const started = operations.start(START, () => promise);
    expect(operations.find('z', started.name)).toEqual(started);
    expect([operations.isBeingInserted('z', 'vm'), operations.isBeingInserted('y', 'vm')]).toEqual([true, false]);
    now = 2_000;
    resolve({ targetId: '7' });
    expect(await operations.wait(started, UNTIL_DONE)).toEqual({ ...started, targetId: '7', endedAt: 2_000 });
    expect(operations.isBeingInserted('z', 'vm')).toBe(false);
  });

  it('is found by its request id in its own zone, and only if it has one', () => {
    const operations = createOperations(options);
    const started = operations.start({ ...START, requestId: 'r' }, unfinished);
    operations.start({ ...START, vmName: 'other' }, unfinished);
    expect(operations.findByRequestId('z', 'r')).toEqual(started);
    expect(operations.findByRequestId('y', 'r')).toBeUndefined();
    expect(operations.findByRequestId('z', null)).toBeUndefined();
  });

  it('fails with an internal error if its work throws, and reports the error', async () => {
    const operations = createOperations(options);
    const started = operations.start(START, () => Promise.reject(new Error('no disk')));
    expect(await operations.wait(started, UNTIL_DONE)).toMatchObject({
      endedAt: now,
      failure: { httpStatus: 500, errors: [{ code: 'INTERNAL_ERROR' }] },
    });
    expect(faults).toEqual(['no disk']);
  });

  it('stops waiting when the client disconnects', async () => {
    const operations = createOperations(options);
    const started = operations.start(START, unfinished);
    expect(await operations.wait(started, AbortSignal.abort())).toEqual(started);
  });

  it('is deleted after a thousand later ones are done, unless it is still running', async () => {
    const operations = createOperations(options);
    const running = operations.start(START, unfinished);
    const first = operations.start(START, async () => ({ targetId: '1' }));
    await operations.wait(first, UNTIL_DONE);
    for (let count = 0; count < 1_000; count += 1) {
      await operations.wait(
        operations.start(START, async () => ({ targetId: '1' })),
        UNTIL_DONE,
      );
    }
    operations.start(START, unfinished);
    expect(operations.find('z', first.name)).toBeUndefined();
    expect(operations.find('z', running.name)).toEqual(running);
    expect(options.table.readAll()).toHaveLength(1_002);
  });
});

describe('operations that a crashed cloud left unfinished', () => {
  it.each(
    [
      [
        'an insertion whose VM is there is done',
        'insert',
        [vmRecord('vm', 1_500)],
        { targetId: 'id of vm', failure: null },
      ],
      ['an insertion whose VM is not there has failed', 'insert', [], { targetId: null, failure: { httpStatus: 500 } }],
      [
        'an insertion is not ended by an older VM of that name',
        'insert',
        [vmRecord('vm', 500), vmRecord('other', 1_500)],
        { targetId: null, failure: { httpStatus: 500 } },
      ],
      ['a deletion is done', 'delete', [vmRecord('vm', 500)], { targetId: null, failure: null }],
    ].map(([name, type, vms, expected]) => ({ name, type, vms, expected })),
  )('$name', ({ type, vms, expected }) => {
    const started = createOperations(options).start({ ...START, type: type as 'insert' | 'delete' }, unfinished);
    now = 3_000;
    recoverOperations(options, vms as readonly VmRecord[]);
    expect(options.table.find('z', started.name)).toMatchObject({ endedAt: 3_000, ...(expected as object) });
  });
});
