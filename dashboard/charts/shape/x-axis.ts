import type { JobView } from '#shared/protocol/job-view.ts';

/** The quantity on a chart's x-axis: the program's steps, milliseconds since the start or the epoch, or US dollars. */
export const X_AXES = ['step', 'relative', 'wall', 'cost'] as const;
export type XAxis = (typeof X_AXES)[number];

export const X_AXIS_NAMES: Readonly<Record<XAxis, string>> = {
  step: 'Step',
  relative: 'Relative time',
  wall: 'Wall time',
  cost: 'Cost',
};

type Start = Pick<JobView, 'createTime' | 'startTime'>;

/** The time from which relative times count: when the job first ran, or its creation before. */
export function originOf({ createTime, startTime }: Start): number {
  return Date.parse(startTime ?? createTime);
}

type Costs = Pick<JobView, 'timeline' | 'price'>;

/**
 * The cost of a job at a time, at list prices: VMs are billed from PREPARING until the attempt ends, earlier attempts
 * included. Null if the price is unknown.
 */
export function costAt({ timeline, price }: Costs): ((at: number) => number) | null {
  const { perHourUsd } = price;
  if (perHourUsd === null) {
    return null;
  }
  const billed = timeline.flatMap(({ phases }) => {
    const spans = phases.filter(({ phase }) => phase !== 'QUEUED' && phase !== 'CLOSING');
    const [first, last] = [spans[0], spans.at(-1)];
    return first === undefined || last === undefined
      ? []
      : [{ from: Date.parse(first.startTime), to: last.endTime === null ? Infinity : Date.parse(last.endTime) }];
  });
  return (at) => {
    const ms = billed.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(at, to) - from), 0);
    return (ms / 3_600_000) * perHourUsd;
  };
}
