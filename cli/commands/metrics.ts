import { openApi } from '#cli/client/open-api.ts';
import { type Command, defineFlag, type ExitCode, type Invocation } from '#cli/core/command.ts';
import { Failure, UsageFailure } from '#cli/core/failure.ts';
import { GCLOUD_JOB_FLAGS } from '#cli/core/gcloud-flags.ts';
import { programName } from '#cli/core/program-name.ts';
import { readNumber } from '#cli/core/read-number.ts';
import {
  describeNoSeries,
  describeOmitted,
  formatPoints,
  formatSeries,
  toPointRows,
} from '#cli/render/describe-metrics.ts';
import {
  SERIES_PER_REQUEST_MAX,
  SERIES_POINTS_MAX,
  type SeriesKind,
  type SeriesPage,
} from '#shared/protocol/metric-series.ts';

/** A screen of text; machine-readable formats have as many as the API gives. */
const TEXT_POINTS_COUNT = 20;

export const metrics: Command = {
  operands: [
    { name: 'JOB', summary: 'the id of the job', count: 'one' },
    { name: 'METRIC', summary: 'print the points of these metrics', count: 'any' },
  ],
  example: 'digits loss accuracy',
  flags: [
    defineFlag('system', 'those of the VMs, such as gpu/0/utilization, instead of those of the program'),
    defineFlag('replica REPLICA', 'of one replica only, such as master-0'),
    defineFlag(
      'points N',
      `maximum number of points of each metric, 1 to ${SERIES_POINTS_MAX} (default ${TEXT_POINTS_COUNT}; ${SERIES_POINTS_MAX} in other formats than text)`,
    ),
    ...GCLOUD_JOB_FLAGS,
  ],
  notes:
    'A curve with more points is thinned out: its extremes and its ends are kept. All points are in the job directory,\n' +
    'below dropforge-metrics/.',
  async run(invocation) {
    const { flag, isSet, operands } = invocation;
    const [jobId = '', ...names] = operands;
    const kind = isSet('system') ? 'SYSTEM' : 'PROGRAM';
    const pointsDefault = invocation.isJson ? SERIES_POINTS_MAX : TEXT_POINTS_COUNT;
    const pointsMax = readNumber(invocation, 'points', { max: SERIES_POINTS_MAX }) ?? pointsDefault;
    if (names.length === 0 && flag('points') !== undefined) {
      throw new UsageFailure(
        `--points is for the points of a metric: ${programName()} metrics ${jobId} METRIC --points N.`,
      );
    }
    if (names.length > SERIES_PER_REQUEST_MAX) {
      throw new UsageFailure(`Name at most ${SERIES_PER_REQUEST_MAX} metrics, not ${names.length}.`);
    }
    const { api } = await openApi(invocation);
    const replica = flag('replica');
    if (names.length > 0) {
      const page = await api.readMetricPoints(jobId, { names, kind, replica, pointsMax });
      return printPoints(invocation, { jobId, names, kind, page });
    }
    const index = await api.getMetrics(jobId);
    const series = index.series.filter((one) => one.kind === kind && (replica ?? one.replica) === one.replica);
    const none = describeNoSeries(jobId, kind);
    const text = series.length === 0 ? none : formatSeries(series);
    invocation.print({ json: series, text: [text, ...describeOmitted(index)].map((line) => `${line}\n`).join('') });
    return 0;
  },
};

type Points = {
  readonly jobId: string;
  readonly names: readonly string[];
  readonly kind: SeriesKind;
  readonly page: SeriesPage;
};

/** Throws Failure if the job has none of the metrics. */
function printPoints({ print }: Invocation, { jobId, names, kind, page }: Points): ExitCode {
  const missing = names.filter((name) => page.series.every((one) => one.name !== name));
  if (missing.length > 0) {
    const list = `${programName()} metrics ${jobId}${kind === 'SYSTEM' ? ' --system' : ''}`;
    throw new Failure(`Job ${jobId} has no metric ${missing.join(' and no metric ')}: list them with \`${list}\`.`);
  }
  const rows = toPointRows(page);
  print({ json: rows, text: `${formatPoints(rows)}\n` });
  return 0;
}
