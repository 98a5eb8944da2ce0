import { programOption } from '#shared/job-file/fields/field.ts';
import { flag } from '#shared/job-file/fields/kind.ts';

/** The row of `metricsFromOutput` in the table of fields. */
export const METRICS_FROM_OUTPUT = programOption('metricsFromOutput', flag(), {
  description:
    'Whether metrics are read from what the program prints (docs/trackers.md). By default, losses and scores at steps are, as series whose names begin with `log/`. `true` takes all that looks like a metric, under its own name, also as the metric of a tuning; `false` takes nothing.',
  omitted: 'losses and scores, as `log/NAME`',
  examples: [false],
  synonyms: ['metricsFromLog', 'parseOutput'],
});
