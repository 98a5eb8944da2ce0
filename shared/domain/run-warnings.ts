import { listNames } from '#shared/domain/cluster-start.ts';
import { HEALTH_ENDS } from '#shared/domain/health-cause.ts';
import { MASTER, type Warning } from '#shared/domain/job.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { Replica } from '#shared/domain/replica.ts';
import { FOLLOWING_FAILURE_MS_MAX } from '#shared/domain/timeouts.ts';

/** The limit applies to all replicas together, because the workers of a cluster often report the same. */
const HEALTH_WARNINGS_MAX = 10;

/** How much earlier than the master's a worker's program ends without an error to be noticed. */
const EARLY_END_MS = 600_000;

/** Returns what the replicas of a job reported that its end alone does not show. */
export function findRunWarnings(
  replicas: readonly Replica[],
  spec: Pick<JobSpec, 'jobDir' | 'replicaGroups'>,
): readonly Warning[] {
  const master = replicas.find(({ replica }) => replica === MASTER);
  return [
    ...replicas.flatMap(warnOfHealth).slice(0, HEALTH_WARNINGS_MAX),
    ...replicas.flatMap(warnOfOutputs).slice(0, HEALTH_WARNINGS_MAX),
    ...(master === undefined ? [] : warnOfEnds(master, replicas)),
    ...replicas
      .filter((replica) => hasSavedNothing(replica) && !savesElsewhere(spec))
      .map(() => ({
        code: 'NOTHING_SAVED',
        message: `The program succeeded, but saved no file in ${spec.jobDir}.`,
        remedy:
          'Write the model to the directory in --job-dir, AIP_MODEL_DIR or DROPFORGE_OUTPUT_DIR: files outside of them and of the working directory are deleted with the VM. If the program saves its results elsewhere, no action is needed.',
      })),
  ];
}

/** The master's job directory has the files of all replicas. */
function hasSavedNothing({ replica, exit }: Replica): boolean {
  return replica === MASTER && exit?.outcome === 'SUCCEEDED' && exit.savedNothing === true;
}

const OUTPUT_OPTION = /^-{0,2}[\w.-]{0,60}(?:out|export|save|model|checkpoint|ckpt|log|result|artifact)[\w.-]{0,60}$/i;

/** Whether an argument of the others' own programs names another place for results; the agent knows the master's. */
function savesElsewhere({ jobDir, replicaGroups }: Pick<JobSpec, 'jobDir' | 'replicaGroups'>): boolean {
  const args = replicaGroups.flatMap(({ program }) => program?.args ?? []).flatMap((arg) => arg.split(/=(.*)/s, 2));
  return args.some(
    (value, index) =>
      OUTPUT_OPTION.test(args[index - 1] ?? '') && /^gs:\/\/|^\/gcs\//.test(value) && !value.startsWith(jobDir),
  );
}

/** Workers that ended long before the master without an error, or still run after it. */
function warnOfEnds(master: Replica, replicas: readonly Replica[]): readonly Warning[] {
  const end = master.exit ?? master.pendingExit;
  const workers = replicas.filter(({ replica }) => replica.startsWith('worker-'));
  const early = workers.filter(({ exit, endedAt }) => {
    const until = master.endedAt ?? master.heardAt;
    return exit?.outcome === 'SUCCEEDED' && endedAt !== null && until - endedAt >= EARLY_END_MS;
  });
  const late = workers.filter(
    ({ phase, heardAt }) =>
      phase === 'RUNNING' && master.endedAt !== null && heardAt - master.endedAt >= FOLLOWING_FAILURE_MS_MAX,
  );
  const nameOf = (those: readonly Replica[]) => listNames(those.map(({ replica }) => replica));
  const hasEndedEarly = early.length > 0 && end?.outcome !== 'FAILED';
  const isHung = late.length > 0 && end?.outcome === 'SUCCEEDED';
  return [
    ...(hasEndedEarly
      ? [
          {
            code: 'REPLICA_ENDED_EARLY',
            message: `The master runs on after ${nameOf(early)} ended with exit code 0, ${EARLY_END_MS / 60_000} min or more before it.`,
            remedy: END_REMEDIES.REPLICA_ENDED_EARLY,
          },
        ]
      : []),
    ...(isHung
      ? [
          {
            code: 'REPLICA_STILL_RUNNING',
            message: `The program of ${nameOf(late)} still ran when that of the master had ended, and is stopped.`,
            remedy: END_REMEDIES.REPLICA_STILL_RUNNING,
          },
        ]
      : []),
  ];
}

const END_REMEDIES = {
  REPLICA_ENDED_EARLY:
    'If it should train until the end, give every replica the same number of steps: equal shards of the data, or join() of DistributedDataParallel. If it has nothing more to do, no action is needed.',
  REPLICA_STILL_RUNNING:
    'Have all replicas end together: a last torch.distributed.barrier(), then destroy_process_group() on each, and no work of one alone after that. What it has saved is kept.',
} as const;

/** Files that are deleted with the VM, although the program may need them. */
function warnOfOutputs({ replica, health }: Replica): readonly Warning[] {
  return health
    .filter(({ code, until }) => code === 'OUTPUT_LEFT_OUT' || (code === 'OUTPUT_UNSAVED' && until === null))
    .map(({ code, message, remedy }) => {
      return { code, message: replica === MASTER ? message : `${replica}: ${message}`, remedy };
    });
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
