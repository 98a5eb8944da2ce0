import { programOption } from '#shared/job-file/fields/field.ts';
import { flag } from '#shared/job-file/fields/kind.ts';

/** The row of `metricsFromOutput` in the table of fields. */
export const METRICS_FROM_OUTPUT = programOption('metricsFromOutput', flag({ default: false }), {
  description:
    'Whether the lines that the program prints are searched for metrics and progress: JSON, `loss=0.5`, `loss: 0.5`, and the progress bars of Keras, Transformers, Lightning and tqdm (docs/trackers.md).',
  omitted: 'false',
  examples: [true],
  synonyms: ['metricsFromLog', 'parseOutput'],
});
