import type { JobView } from '#shared/protocol/job-view.ts';
import { isEnded } from '#shared/views/describe/is-ended.ts';

/** The stages of a job, in the order of a job without interruptions. */
export const STAGES = [
  'waiting',
  'creating the VM',
  'booting',
  'downloading',
  'installing',
  'training',
  'uploading',
  'tearing down',
] as const;
export type Stage = (typeof STAGES)[number];

const STAGE_OF_PHASE: Readonly<Record<string, Stage>> = {
  BOOTING: 'booting',
  DOWNLOADING: 'downloading',
  INSTALLING: 'installing',
  RUNNING: 'training',
  UPLOADING: 'uploading',
  EXITED: 'tearing down',
};

/** Returns the job's stage; null in a terminal state. */
export function stageOf(job: JobView): Stage | null {
  if (isEnded(job)) {
    return null;
  }
  if (job.state === 'QUEUED') {
    return 'waiting';
  }
  const master = job.replicas.find(({ attempt }) => attempt === job.attempt);
  return (master && STAGE_OF_PHASE[master.phase]) ?? 'creating the VM';
}

/** The stage observed by one poll, with its time in milliseconds. */
export type StageSample = { readonly stage: Stage | null; readonly at: number };

/** Returns the duration of each stage in milliseconds, with the resolution of the poll interval. */
export function measureStages(samples: readonly StageSample[]): ReadonlyMap<Stage, number> {
  const totals = new Map<Stage, number>();
  samples.forEach(({ stage, at }, index) => {
    const until = samples[index + 1]?.at ?? at;
    if (stage !== null) {
      totals.set(stage, (totals.get(stage) ?? 0) + until - at);
    }
  });
  return new Map(STAGES.flatMap((stage) => (totals.has(stage) ? [[stage, totals.get(stage) ?? 0] as const] : [])));
}
