import { type Cause, type CauseCode, causeOf, remedyOf } from '#shared/domain/cause.ts';
import type { ExitFacts } from '#shared/domain/exit-report.ts';
import type { DecisiveFinding, HealthCode } from '#shared/domain/health.ts';

/** The causes and labels of a program that was stopped for its health, to end its job. */
const STOPPED: Partial<Readonly<Record<HealthCode, { readonly cause: CauseCode; readonly label: string }>>> = {
  NON_FINITE: { cause: 'METRIC_NOT_FINITE', label: 'nan_loss' },
  DIVERGING: { cause: 'TRAINING_DIVERGED', label: 'loss_diverged' },
  STALLED: { cause: 'TRAINING_STALLED', label: 'training_stalled' },
};

/** Limit on how often a job continues after a cause of this kind, and the cause with which it ends then. */
type Recovery = { readonly countMax: number; readonly end: CauseCode; readonly isInRow?: true };

const HEALTH_RECOVERIES: Partial<Readonly<Record<CauseCode, Recovery>>> = {
  STALL_RESTARTED: { countMax: 3, end: 'TRAINING_STALLED' },
  ROLLED_BACK: { countMax: 2, end: 'METRIC_NOT_FINITE' },
  // A program can print what looks like a fault of the GPU. Long trainings on many GPUs meet several, far apart.
  GPU_FAILED: { countMax: 2, end: 'GPU_FAILED_REPEATEDLY', isInRow: true },
};

/** The job asked for an end: more attempts of the same program are not made for it. */
export const HEALTH_ENDS: readonly CauseCode[] = Object.values(STOPPED).map(({ cause }) => cause);

/** The cause of an exit with the reason UNHEALTHY. */
export function classifyUnhealthy({ message, evidence, health }: ExitFacts): Cause {
  const code = health === undefined ? undefined : codeOf(health);
  if (health === undefined || code === undefined) {
    return causeOf('INTERNAL_ERROR', `The agent named no finding. ${message}`, evidence);
  }
  const diagnosis = { label: STOPPED[health.code]?.label ?? health.code.toLowerCase(), remedy: health.remedy };
  const isRepeated = HEALTH_RECOVERIES[code] !== undefined;
  return { ...causeOf(code, message, evidence), diagnosis: { ...diagnosis, canRetryHelp: isRepeated } };
}

function codeOf({ code, action }: DecisiveFinding): CauseCode | undefined {
  if (action === 'restart') {
    return 'STALL_RESTARTED';
  }
  return action === 'rollback' ? 'ROLLED_BACK' : STOPPED[code]?.cause;
}

/** The cause that ends a job which has continued often enough after causes like this; null if it may continue. */
export function endOfRecovery(cause: Cause, earlier: readonly (Cause | null)[]): Cause | null {
  const recovery = HEALTH_RECOVERIES[cause.code];
  const first = recovery?.isInRow ? earlier.findLastIndex((one) => one?.code !== cause.code) + 1 : 0;
  const count = earlier.slice(first).filter((one) => one?.code === cause.code).length;
  if (recovery === undefined || count < recovery.countMax) {
    return null;
  }
  const message = `${cause.message} It was restarted ${count} times for this before.`;
  const { diagnosis, evidence } = cause;
  const end = causeOf(recovery.end, message, evidence);
  if (diagnosis === undefined) {
    return end;
  }
  // That of a faulty GPU says that a new attempt follows.
  const remedy = recovery.isInRow ? remedyOf(end) : diagnosis.remedy;
  return { ...end, diagnosis: { ...diagnosis, remedy, canRetryHelp: false } };
}
