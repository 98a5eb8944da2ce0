import { formatTable } from '#cli/render/format-table.ts';
import type { SeriesIndex, SeriesKind, SeriesPage } from '#shared/protocol/metric-series.ts';
import { formatInUnit, formatValue } from '#shared/text/format-number.ts';
import { formatUtc } from '#shared/text/format-time.ts';

type Series = SeriesIndex['series'][number];
type Value = Series['last']['value'];

/** One point of one series. */
export type PointRow = {
  readonly name: string;
  readonly replica: string;
  readonly attempt: number;
  readonly step: number | null;
  /** RFC 3339. */
  readonly time: string;
  readonly value: Value;
};

/** Formats series as a table, with their units. */
export function formatSeries(series: readonly Series[]): string {
  const rows = series.map((one) => [
    plain(one.name),
    one.replica,
    formatInUnit(one.last.value, one.unit),
    one.last.step === null ? '-' : String(one.last.step),
    one.min === null ? '-' : formatInUnit(one.min, one.unit),
    one.max === null ? '-' : formatInUnit(one.max, one.unit),
    String(one.pointCount),
  ]);
  return formatTable(['METRIC', 'REPLICA', 'LAST', 'STEP', 'MIN', 'MAX', 'POINTS'], rows);
}

/** Says how a job without metrics gets some; for those of a machine it only has to wait. */
export function describeNoSeries(jobId: string, kind: SeriesKind): string {
  if (kind === 'SYSTEM') {
    return `Job ${jobId} has no system metrics yet.`;
  }
  return [
    `Job ${jobId} has no metrics of its program. They arrive with the next sync after a report; docs/metrics.md lists what`,
    'is read. If the program prints them in a form of its own, set `metricsFromOutput: true` in its job file.',
  ].join(' ');
}

/** Says in sentences which parts the history does not have. */
export function describeOmitted({ omitted }: SeriesIndex): readonly string[] {
  const { series, points } = omitted;
  return [
    ...(series > 0 ? [`${series} more metrics were reported, and not kept: a job has at most 1,000.`] : []),
    ...(points > 0
      ? [
          series > 0
            ? `${points} values were not kept, mostly of these metrics.`
            : `${points} values were not kept: they came too fast, or exceeded another limit.`,
        ]
      : []),
  ];
}

export function toPointRows({ series }: SeriesPage): readonly PointRow[] {
  return series.flatMap(({ name, replica, attempt, steps, times, values }) =>
    values.map((value, index) => ({
      name,
      replica,
      attempt,
      step: steps?.[index] ?? null,
      time: new Date(times[index] ?? 0).toISOString(),
      value,
    })),
  );
}

export function formatPoints(rows: readonly PointRow[]): string {
  return formatTable(
    ['METRIC', 'REPLICA', 'ATTEMPT', 'STEP', 'TIME', 'VALUE'],
    rows.map(({ name, replica, attempt, step, time, value }) => [
      plain(name),
      replica,
      String(attempt),
      step === null ? '-' : String(step),
      formatUtc(time),
      formatValue(value),
    ]),
  );
}

/** Names come from programs: escape sequences would reach the terminal. */
function plain(name: string): string {
  return name.replaceAll(/\p{Cc}/gu, '?');
}
