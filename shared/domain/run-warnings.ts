import { HEALTH_ENDS } from '#shared/domain/health-cause.ts';
import { MASTER, type Warning } from '#shared/domain/job.ts';
import type { Replica } from '#shared/domain/replica.ts';

/** The limit applies to all replicas together, because the workers of a cluster often report the same. */
const HEALTH_WARNINGS_MAX = 10;

/** Returns what the replicas of a job reported that its end alone does not show. */
export function findRunWarnings(replicas: readonly Replica[], jobDir: string): readonly Warning[] {
  return [
    ...replicas.flatMap(warnOfHealth).slice(0, HEALTH_WARNINGS_MAX),
    ...replicas.flatMap(warnOfOutputs),
    ...replicas.filter(hasSavedNothing).map(() => ({
      code: 'NOTHING_SAVED',
      message: `The program succeeded, but saved no file in ${jobDir}.`,
      remedy:
        'Write the model to the directory in --job-dir, AIP_MODEL_DIR or DROPFORGE_OUTPUT_DIR: files outside of them and of the working directory are deleted with the VM. If the program saves its results elsewhere, no action is needed.',
    })),
  ];
}

function hasSavedNothing({ replica, exit }: Replica): boolean {
  return replica === MASTER && exit?.outcome === 'SUCCEEDED' && exit.savedNothing === true;
}

/** Files that are deleted with the VM, although the program may need them. */
function warnOfOutputs({ replica, health }: Replica): readonly Warning[] {
  const found = health.filter(
    ({ code, until }) => code === 'OUTPUT_LEFT_OUT' || (code === 'OUTPUT_UNSAVED' && until === null),
  );
  return replica === MASTER ? found.map(({ code, message, remedy }) => ({ code, message, remedy })) : [];
}

/** Warns that the result may be unusable: a metric is not finite at the end, or a loss has diverged. */
function warnOfHealth({ replica, health, exit }: Replica): readonly Warning[] {
  const isCause = exit?.outcome === 'FAILED' && HEALTH_ENDS.includes(exit.cause.code);
  return health.flatMap(({ code, message, remedy, until }) => {
    const isShown = (code === 'NON_FINITE' || code === 'DIVERGING') && until === null;
    return isShown && !isCause
      ? [{ code: code === 'NON_FINITE' ? 'METRIC_NOT_FINITE' : code, message: `${replica}: ${message}`, remedy }]
      : [];
  });
}
