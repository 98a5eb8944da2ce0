import { AssertionError } from 'node:assert/strict';
import type { Cause, CauseCode } from '#shared/domain/cause.ts';
import { type Job, type JobIn, replicaName, replicasOf } from '#shared/domain/job.ts';
import { attemptOf } from './simulated-control-plane.ts';
import type { Shape } from './simulated-job.ts';
import { createWorld, memberOf, type WorldOptions } from './simulated-world.ts';
import type { Mechanism } from './world-faults.ts';

export const FAULTY_STEPS = 2_500;
const CALM_STEPS_MAX = 40_000;

/** Limit on simulated time until a world is at rest once faults have stopped. */
const CALM_MS_MAX = 4 * 3_600_000;

/** Submitted jobs by id; an undefined shape is drawn from the seed. */
type Submissions = Readonly<Record<string, Shape | undefined>>;

const CLUSTERS: Submissions = { steady: undefined, wide: undefined, broken: undefined, brittle: undefined };

export type World = ReturnType<typeof createWorld>;

export type Scenario = WorldOptions & { readonly submissions?: Submissions };

/** Runs one seed: with faults for a while, then without until the world is at rest. Returns the violated guarantees. */
export async function runSeed(
  seed: number,
  without: readonly Mechanism[] = [],
  { submissions = CLUSTERS, ...options }: Scenario = {},
): Promise<readonly string[]> {
  const world = createWorld(seed, without, options);
  const cancelled = new Set<string>();
  for (const [jobId, shape] of Object.entries(submissions)) {
    await world.submit(jobId, shape);
    if (world.prng.chance(0.2)) {
      cancelled.add(jobId);
      world.cancelLater(jobId, world.prng.integer(1_200_000));
    }
    if (shape?.keepOnFailureMs !== undefined && world.prng.chance(0.2)) {
      world.releaseLater(jobId, world.prng.integer(2_400_000));
    }
  }
  try {
    for (let step = 0; step < FAULTY_STEPS; step += 1) {
      await world.step();
    }
    world.stopFaults();
    await rest(world);
    return [
      ...(await checkRest(world)),
      ...(await checkVerdicts(world, { jobIds: Object.keys(submissions), cancelled })),
    ];
  } catch (error) {
    if (error instanceof AssertionError) {
      return [error.message];
    }
    throw error;
  } finally {
    world.close();
  }
}

export async function rest(world: World, calmMsMax = CALM_MS_MAX): Promise<void> {
  const calmSince = world.now();
  for (let step = 0; step < CALM_STEPS_MAX; step += 1) {
    if (world.now() - calmSince > calmMsMax || !(await world.isBusy())) {
      return;
    }
    await world.step();
  }
}

export async function checkRest(world: World): Promise<readonly string[]> {
  const unpublished = [...(await world.jobs.listWithOutbox(10)), ...(await world.tunings.listWithOutbox(10))];
  const vms = world.cloud.all().map(({ vmName, status }) => `VM ${vmName} is still billed (${status})`);
  return [...vms, ...unpublished.map((jobId) => `job ${jobId} still has outbox entries`)];
}

async function checkVerdicts(
  world: World,
  { jobIds, cancelled }: { readonly jobIds: readonly string[]; readonly cancelled: ReadonlySet<string> },
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const jobId of jobIds) {
    const job = (await world.jobs.read(jobId))?.record;
    if (job?.status !== 'CLOSED') {
      problems.push(`job ${jobId} never ended: ${job?.status}`);
      continue;
    }
    const { state, cause } = job.verdict;
    if (state === 'SUCCEEDED') {
      problems.push(...checkSuccess(world, job));
    } else if (cause?.code === 'PROGRAM_FAILED') {
      problems.push(...checkFailure(world, job, cause), ...checkKept(job));
    } else if (!(state === 'CANCELLED' && cancelled.has(jobId)) && !hasRetryLimit(cause)) {
      problems.push(`job ${jobId} ended as ${state} for ${cause?.code}`);
    }
  }
  return problems;
}

/** A job that keeps VMs has kept one of its failure, not longer than it says. */
function checkKept(job: JobIn<'CLOSED'>): readonly string[] {
  const { keepOnFailureMs } = job.spec.limits;
  if (job.kept === null) {
    return keepOnFailureMs === 0 ? [] : [`job ${job.jobId} kept no VM`];
  }
  const { since, until, releasedAt } = job.kept;
  return until - since === keepOnFailureMs && releasedAt !== null ? [] : [`job ${job.jobId} never released its VM`];
}

/** The job fails only if a program did, and its cause names one that failed by itself. */
function checkFailure(world: World, job: Job, { message }: Cause): readonly string[] {
  const failed = replicasOf(job.spec).filter((replica) => world.finished.has(`${memberOf(job, replica)}/1`));
  if (failed.length === 0) {
    return [`job ${job.jobId} failed by attempt ${job.attempt}, in which no program failed by itself`];
  }
  const named = /^Replica (\S+) failed first/.exec(message)?.[1];
  const isNamed = named === undefined || failed.some((replica) => replicaName(replica) === named);
  return isNamed ? [] : [`job ${job.jobId} failed because of ${named}, which only lost its connection`];
}

/**
 * The job succeeds only if its master did, and only if no failure of another replica was reported before; except by an
 * interruption after both, since a finished training is not repeated.
 */
function checkSuccess(world: World, job: Job): readonly string[] {
  const { jobId } = job;
  const attempt = hasFoundSuccess(job) ? (world.successOf(jobId) ?? 0) : job.attempt;
  const finishedAt = world.finished.get(`${memberOf({ jobId, attempt }, MASTER)}/0`);
  if (finishedAt === undefined) {
    return [`job ${jobId} succeeded by attempt ${attempt}, whose master never did`];
  }
  const failedAt = world.failureReportedAt.get(`${jobId}/${attempt}`) ?? Number.POSITIVE_INFINITY;
  return failedAt < finishedAt && !world.interrupted.has(attemptOf({ jobId, attempt }))
    ? [`job ${jobId} succeeded after a replica of attempt ${attempt} had failed`]
    : [];
}

/** Whether the last attempt had no VM, since it found the success of an earlier one in the job directory. */
export function hasFoundSuccess({ ledger }: Pick<Job, 'ledger'>): boolean {
  return ledger.at(-1)?.zone === null;
}

const MASTER = { role: 'master', index: 0 } as const;

function hasRetryLimit(cause: Cause | null): boolean {
  return cause !== null && RETRY_LIMITS.includes(cause.code);
}

const RETRY_LIMITS: readonly CauseCode[] = [
  'BOOT_FAILED_REPEATEDLY',
  'INTERRUPTED_REPEATEDLY',
  'UNUSED_VM_LIMIT_EXCEEDED',
  'TRAINING_STALLED',
];
