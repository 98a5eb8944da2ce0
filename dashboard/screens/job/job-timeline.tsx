import { useEffect, useRef } from 'preact/hooks';
import type { ChartLinks, XRange } from '#dashboard/charts/chart-links.ts';
import { seriesVariable } from '#dashboard/charts/colors.ts';
import type { XAxis } from '#dashboard/charts/shape/x-axis.ts';
import { formatDateTime } from '#dashboard/format/format-time.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { formatDuration } from '#shared/text/format-time.ts';

type Props = {
  readonly job: JobView;
  readonly domain: { readonly from: number; readonly to: number };
  readonly links: ChartLinks;
  readonly axis: XAxis;
  readonly origin: number;
};

/** Narrower phases could not be pointed at. */
const WIDTH_PERCENT_MIN = 0.3;
const PHASES = ['QUEUED', 'PREPARING', 'RUNNING', 'UPLOADING', 'KEPT', 'CLOSING'] as const;
const NAMES = {
  QUEUED: 'Queued',
  PREPARING: 'Preparing',
  RUNNING: 'Running',
  UPLOADING: 'Uploading',
  KEPT: 'Kept for a look',
  CLOSING: 'Closing',
} as const;

/** The attempts of a job, one row each, with their phases on the time axis of the machine charts. */
export function JobTimeline({ job, domain, links }: Props) {
  const { from, to } = domain;
  const length = Math.max(1, to - from);
  const place = (at: number) => `${(100 * Math.min(length, Math.max(0, at - from))) / length}%`;
  const shown = PHASES.filter((name) => job.timeline.some(({ phases }) => phases.some(({ phase }) => phase === name)));
  return (
    <section class="card timeline" aria-label="Attempts">
      <header class="timeline-header">
        <h2>Attempts</h2>
        <ul class="legend">
          {shown.map((phase) => (
            <li key={phase} class="legend-item">
              <span class={`phase-swatch phase-${phase.toLowerCase()}`} aria-hidden="true" />
              <span class="legend-label">{NAMES[phase]}</span>
            </li>
          ))}
        </ul>
      </header>
      <div class="timeline-rows">
        {job.timeline.map((attempt) => (
          <AttemptRow key={attempt.attempt} attempt={attempt} {...{ from, to, place }} />
        ))}
        <TimelineCursor {...{ links, place }} />
      </div>
    </section>
  );
}

type Attempt = JobView['timeline'][number];
type RowProps = {
  readonly attempt: Attempt;
  readonly from: number;
  readonly to: number;
  readonly place: (at: number) => string;
};

function AttemptRow({ attempt, from, to, place }: RowProps) {
  const { phases, zone, provisioningModel, cause, message } = attempt;
  const where = [zone, provisioningModel === 'SPOT' ? 'Spot' : null].filter(Boolean).join(', ');
  return (
    <div class="timeline-row">
      <span class="timeline-label">
        <span class="legend-line" style={{ color: `var(${seriesVariable(attempt.attempt - 1)})` }} aria-hidden="true" />
        {attempt.attempt}
      </span>
      <ol class="timeline-bar" aria-label={`Attempt ${attempt.attempt}${where === '' ? '' : `, ${where}`}`}>
        {phases.map(({ phase, startTime, endTime }) => {
          const start = Date.parse(startTime);
          const end = endTime === null ? to : Date.parse(endTime);
          const text = `${NAMES[phase]} ${formatDuration(end - start)}`;
          const width = Math.max(WIDTH_PERCENT_MIN, (100 * (end - start)) / Math.max(1, to - from));
          return (
            <li
              key={phase}
              class={`phase phase-${phase.toLowerCase()}${endTime === null ? ' phase-open' : ''}`}
              style={{ left: place(start), width: `${width}%` }}
              title={`${text}, from ${formatDateTime(start)}`}
            >
              <span class="visually-hidden">{text}</span>
            </li>
          );
        })}
      </ol>
      <span class="timeline-end user-text" title={message ?? undefined}>
        {where}
        {cause !== null && <span class="timeline-cause">{cause}</span>}
      </span>
    </div>
  );
}

/** A line at the time at which the reader points in a chart. */
function TimelineCursor({ links, place }: Pick<Props, 'links'> & Pick<RowProps, 'place'>) {
  const line = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const update = () => {
      const cursor = links.cursor.get();
      if (line.current !== null) {
        line.current.hidden = cursor === null;
        line.current.style.left = cursor === null ? '0' : place(cursor.time);
      }
    };
    update();
    return links.cursor.subscribe(update);
  });
  return (
    <div class="timeline-cursor-area" aria-hidden="true">
      <div class="timeline-cursor" ref={line} hidden />
    </div>
  );
}

/** From the creation of the job until its end, or now. */
export function timeDomain(job: JobView, now: number): { readonly from: number; readonly to: number } {
  const from = Date.parse(job.createTime);
  return { from, to: job.endTime === null ? Math.max(now, from + 1_000) : Date.parse(job.endTime) };
}

export function toAxis({ from, to }: { readonly from: number; readonly to: number }, shift: number): XRange {
  return { min: from - shift, max: to - shift };
}
