import type { JobView } from '#shared/protocol/job-view.ts';

type Finding = JobView['health'][number];

export type ChosenFindings = {
  /** To act on now. */
  readonly open: readonly Finding[];
  /** The findings of a job that has ended, folded: nothing can follow from them, and a success is not a problem. */
  readonly past: readonly Finding[];
};

/** Which health findings of a job are shown. The one that ended it is not repeated: its cause has the same remedy. */
export function chooseFindings({
  health,
  cause,
  endTime,
}: Pick<JobView, 'health' | 'cause' | 'endTime'>): ChosenFindings {
  if (endTime === null) {
    return { open: health.filter(({ untilTime }) => untilTime === null), past: [] };
  }
  return { open: [], past: health.filter(({ remedy }) => remedy !== cause?.remedy) };
}
