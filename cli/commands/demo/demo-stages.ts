import { hasEnded } from '#cli/client/follow-job.ts';
import type { JobView } from '#shared/protocol/report.ts';

/** What is happening to a job, in a word or two, in the order in which a smooth job passes through. */
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

/** Null once the job has ended. */
export function stageOf(job: JobView): Stage | null {
  if (hasEnded(job)) {
    return null;
  }
  if (job.state === 'QUEUED') {
    return 'waiting';
  }
  const master = job.replicas.find(({ attempt }) => attempt === job.attempt);
  return (master && STAGE_OF_PHASE[master.phase]) ?? 'creating the VM';
}

/** A look at the job: its stage at a time, in milliseconds. */
export type Sighting = { readonly stage: Stage | null; readonly at: number };

/** How long each stage was seen, in milliseconds; as exact as the looks were frequent. */
export function measureStages(sightings: readonly Sighting[]): ReadonlyMap<Stage, number> {
  const totals = new Map<Stage, number>();
  sightings.forEach(({ stage, at }, index) => {
    const until = sightings[index + 1]?.at ?? at;
    if (stage !== null) {
      totals.set(stage, (totals.get(stage) ?? 0) + until - at);
    }
  });
  return new Map(STAGES.flatMap((stage) => (totals.has(stage) ? [[stage, totals.get(stage) ?? 0] as const] : [])));
}
