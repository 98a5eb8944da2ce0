import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  OperationFailure,
  OperationRecord,
  OperationTable,
  OperationType,
} from '#infra/embedded/compute-engine/vms/operation-table.ts';
import type { VmRecord } from '#infra/embedded/compute-engine/vms/vm-table.ts';
import type { Clock } from '#shared/ports/clock.ts';

/** How the work of an operation ended: with the instance id it was about, or why it failed. */
export type WorkOutcome = { readonly targetId: string } | { readonly failure: OperationFailure };

export type Work = () => Promise<WorkOutcome>;

export type OperationStart = {
  readonly type: OperationType;
  readonly zone: string;
  readonly vmName: string;
  readonly targetId: string | null;
  readonly requestId: string | null;
};

/** The operations of the embedded Compute Engine: work that goes on after its request was answered. */
export type Operations = {
  start(given: OperationStart, work: Work): OperationRecord;
  find(zone: string, name: string): OperationRecord | undefined;
  /** The operation of an earlier request with this id. */
  findByRequestId(zone: string, requestId: string | null): OperationRecord | undefined;
  /** An insertion that has not ended holds the VM's name. */
  isBeingInserted(zone: string, vmName: string): boolean;
  readAll(): readonly OperationRecord[];
  /** The operation as soon as it is done, or as it is when two minutes have passed or nobody waits any more. */
  wait(operation: OperationRecord, signal: AbortSignal): Promise<OperationRecord>;
};

export type OperationsOptions = {
  readonly table: OperationTable;
  readonly clock: Clock;
  readonly reportFault: (error: Error) => void;
};

/** Compute API, "zoneOperations.wait": at most 2 minutes. */
const WAIT_MS_MAX = 120_000;

export const INTERNAL_FAILURE: OperationFailure = {
  httpStatus: 500,
  httpMessage: 'INTERNAL SERVER ERROR',
  errors: [{ code: 'INTERNAL_ERROR', message: 'Internal error. Please try again or contact Google Support.' }],
};

export function createOperations({ table, clock, reportFault }: OperationsOptions): Operations {
  const running = new Map<string, Promise<void>>();

  async function run(operation: OperationRecord, work: Work): Promise<void> {
    const outcome = await work().catch((error: unknown) => {
      reportFault(error instanceof Error ? error : new Error(String(error)));
      return { failure: INTERNAL_FAILURE };
    });
    try {
      table.update({ ...operation, ...outcome, endedAt: clock.now() });
    } catch (error) {
      // The cloud was closed meanwhile: the next start finds the operation unfinished.
      reportFault(error instanceof Error ? error : new Error(String(error)));
    }
    running.delete(operation.name);
  }

  const again = (operation: OperationRecord) => table.find(operation.zone, operation.name) ?? operation;

  return {
    start(given, work) {
      const operation = { ...given, name: nameOf(clock), insertedAt: clock.now(), endedAt: null, failure: null };
      table.insert(operation);
      running.set(operation.name, run(operation, work));
      return operation;
    },
    find: (zone, name) => table.find(zone, name),
    findByRequestId: (zone, requestId) => (requestId === null ? undefined : table.findByRequestId(zone, requestId)),
    isBeingInserted: (zone, vmName) =>
      [...running.keys()].some((name) => {
        const operation = table.find(zone, name);
        return operation?.type === 'insert' && operation.vmName === vmName;
      }),
    readAll: () => table.readAll(),
    async wait(operation, signal) {
      const answered = new AbortController();
      const late = delay(WAIT_MS_MAX, undefined, { signal: AbortSignal.any([signal, answered.signal]), ref: false });
      await Promise.race([running.get(operation.name), late.catch(() => undefined)]);
      answered.abort();
      return again(operation);
    },
  };
}

/**
 * Ends what a cloud that died has left unfinished, by what there is of the VMs: an insertion has succeeded when its VM
 * is there, a deletion goes on by itself and is taken for done when its VM is gone or going.
 */
export function settleOperations({ table, clock }: OperationsOptions, vms: readonly VmRecord[]): void {
  for (const operation of table.readAll().filter(({ endedAt }) => endedAt === null)) {
    const { type, vmName, zone, insertedAt } = operation;
    const made = vms.find(
      ({ request, createdAt }) => request.vmName === vmName && request.zone === zone && createdAt >= insertedAt,
    );
    const outcome =
      type !== 'insert' ? {} : made === undefined ? { failure: INTERNAL_FAILURE } : { targetId: made.instanceId };
    table.update({ ...operation, ...outcome, endedAt: clock.now() });
  }
}

/** As Compute Engine names them: time and chance. */
function nameOf(clock: Clock): string {
  const chance = randomBytes(10).toString('hex');
  return `operation-${clock.now()}-${chance.slice(0, 12)}-${chance.slice(12)}`;
}
