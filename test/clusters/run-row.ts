import type { JobView } from '#shared/protocol/job-view.ts';
import { type CloudUnderTest, packFiles, until } from '../support/e2e/cloud-under-test.ts';
import { compareFinal, compareRestored, readManifest } from './compare-restored.ts';
import { FAULTS, type FaultName } from './inject-fault.ts';
import { type EventReader, lastSaveBefore, readEvents } from './program-events.ts';
import { type Program, readPackage } from './programs.ts';

const MIDDLE_STEP = 30;
/** The steps of two sync intervals, and those until the next save. */
const LOST_STEPS_MAX = 20;
const RUN_MS_MAX = 150_000;
const FINAL_STATES = ['SUCCEEDED', 'FAILED', 'CANCELLED'];

export type Row = { readonly program: Program; readonly replicas: number; readonly fault: FaultName };

export type Result = {
  readonly state: string;
  readonly attempts: number;
  /** From the fault until the programs of all replicas run again; null if they did not. */
  readonly recoveryMs: number | null;
  readonly savedStep: number;
  readonly resumedStep: number;
  /** The files that the second attempt found. */
  readonly fileCount: number;
  readonly problems: readonly string[];
};

/** The digest of the trained state on each replica, without any fault. */
export type Reference = ReadonlyMap<string, string>;

export const jobIdOf = ({ program, replicas, fault }: Row) =>
  `${program.name}_${replicas}_${fault.replaceAll('-', '_')}`;

export const referenceIdOf = ({ program, replicas }: Omit<Row, 'fault'>) => `${program.name}_${replicas}_undisturbed`;

const isFinal = ({ state }: JobView) => FINAL_STATES.includes(state);
const digestsOf = (events: EventReader, attempt: number): Reference =>
  new Map(events('FINISHED', attempt).map(({ replica, digest }) => [replica, digest]));

async function submit(cloud: CloudUnderTest, jobId: string, { program, replicas }: Omit<Row, 'fault'>): Promise<void> {
  await cloud.upload(`${jobId}.tar.gz`, await packFiles(await readPackage(program, { name: jobId, replicas })));
}

/** Resolves with the job at its end; one that does not end in time is canceled. */
async function awaitEnd(cloud: CloudUnderTest, jobId: string): Promise<JobView> {
  try {
    return await cloud.awaitJob(jobId, isFinal, RUN_MS_MAX);
  } catch {
    await cloud.cancel(jobId);
    return cloud.awaitJob(jobId, isFinal);
  }
}

/** Runs the program undisturbed. Throws if it does not succeed. */
export async function runReference(cloud: CloudUnderTest, row: Omit<Row, 'fault'>): Promise<Reference> {
  const jobId = referenceIdOf(row);
  await submit(cloud, jobId, row);
  const job = await awaitEnd(cloud, jobId);
  if (job.state !== 'SUCCEEDED' || job.attempt > 1) {
    const log = await cloud.readLog(jobId);
    const last = log.slice(-15).map(({ replica, text }) => `${replica}: ${text}`);
    throw new Error([`${jobId} ${job.state}: ${job.cause?.message}`, ...last].join('\n'));
  }
  return digestsOf(readEvents(await cloud.readLog(jobId)), 1);
}

export async function runRow(cloud: CloudUnderTest, row: Row, reference: Reference): Promise<Result> {
  const jobId = jobIdOf(row);
  await submit(cloud, jobId, row);
  await until(`step ${MIDDLE_STEP} of ${jobId}`, () => findMiddle(cloud, jobId), RUN_MS_MAX);
  const { of, inject } = FAULTS[row.fault];
  const name = of === 'master' ? 'master-0' : `${row.program.others ?? 'worker'}-${row.replicas - 2}`;
  const target = (await cloud.readJob(jobId))?.replicas.find(({ replica }) => replica === name);
  if (target === undefined) {
    throw new Error(`${jobId} has no replica ${name}.`);
  }
  const faultAt = Date.now();
  await inject(cloud, target);
  const recovery = cloud.awaitJob(jobId, (job) => isFinal(job) || isRecovered(job, row.replicas), RUN_MS_MAX);
  const recoveryMs = await recovery.then(
    (job) => (isFinal(job) ? null : Date.now() - faultAt),
    () => null,
  );
  const claimed = await readManifest(cloud, jobId, 2);
  const job = await awaitEnd(cloud, jobId);
  const events = readEvents(await cloud.readLog(jobId));
  const savedStep = lastSaveBefore(events, faultAt);
  const resumed = events('RESUMED', 2).map(({ step }) => step);
  const resumedStep = resumed.length === 0 ? 0 : Math.min(...resumed);
  return {
    state: job.state,
    attempts: job.attempt,
    recoveryMs,
    savedStep,
    resumedStep,
    fileCount: Object.keys(claimed).length,
    problems: [
      ...problemsOf(job, digestsOf(events, job.attempt), reference),
      ...(savedStep - resumedStep > LOST_STEPS_MAX ? [`${savedStep - resumedStep} steps are lost`] : []),
      ...compareRestored(events, claimed),
      ...compareFinal(events, await readManifest(cloud, jobId)),
    ],
  };
}

async function findMiddle(cloud: CloudUnderTest, jobId: string): Promise<true | undefined> {
  const job = await cloud.readJob(jobId);
  if (job !== undefined && isFinal(job)) {
    throw new Error(`${jobId} ${job.state} before the fault: ${job.cause?.message}`);
  }
  const events = readEvents(await cloud.readLog(jobId));
  return lastSaveBefore(events, Date.now()) >= MIDDLE_STEP ? true : undefined;
}

function isRecovered({ attempt, replicas }: JobView, count: number): boolean {
  const running = replicas.filter((replica) => replica.attempt === attempt && replica.phase === 'RUNNING');
  return attempt > 1 && running.length === count;
}

function problemsOf(job: JobView, digests: Reference, reference: Reference): readonly string[] {
  const causes = job.attempts.map(({ cause }) => cause ?? 'none').join(', ');
  const failed = job.cause === null ? [] : [job.cause.message, ...job.cause.evidence.slice(-2)];
  const names = [...reference.keys()].filter((name) => digests.get(name) !== reference.get(name));
  return [
    ...(job.state === 'SUCCEEDED' ? [] : [`causes ${causes}: ${failed.join(' | ')}`]),
    ...(job.state === 'SUCCEEDED' && job.attempt !== 2 ? [`${job.attempt} attempts, causes ${causes}`] : []),
    ...(names.length > 0 ? [`the trained state differs from an undisturbed run on ${names.join(', ')}`] : []),
  ];
}
