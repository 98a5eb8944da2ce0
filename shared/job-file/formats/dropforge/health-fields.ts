import { HEALTH_FIELDS, type HealthField } from '#shared/domain/health.ts';
import { DAY_MS } from '#shared/job-file/draft/duration.ts';
import type { HealthDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Field, type JobField, mappingSchema } from '#shared/job-file/fields/field.ts';
import { type JsonSchema, oneOf } from '#shared/job-file/fields/kind.ts';
import { property, type Row, readMapping } from '#shared/job-file/fields/table.ts';
import { duration } from '#shared/job-file/formats/dropforge/durations.ts';

type HealthRow = Field & Row<HealthDraft>;

const inHealth = property<HealthDraft>();

/** An action of one code: its own name in every format. */
function action(name: HealthField, description: string, synonyms: readonly string[] = []): HealthRow {
  const { actions } = HEALTH_FIELDS[name];
  const names = Object.fromEntries(actions.map((each) => [each, each]));
  const kind = oneOf(names, { default: actions[0] });
  return { ...inHealth(name, kind), description, omitted: `\`${actions[0]}\``, synonyms };
}

/** The fields of `health` in Dropforge's own format. */
export const HEALTH_ROWS = {
  nonFinite: action(
    'nonFinite',
    'A loss becomes NaN or infinite and stays so. `rollback` continues from the last checkpoint that was saved before the first of them, twice at most.',
    ['nan'],
  ),
  diverging: action('diverging', 'A loss rises far above its best value.'),
  plateau: action('plateau', 'A loss has not improved for most of the reports.'),
  stalled: action(
    'stalled',
    'The program prints and reports nothing and uses neither processor nor GPU. `restart` continues from the last checkpoint, three times at most.',
  ),
  stalledAfter: {
    ...inHealth('stalledAfter', duration(DAY_MS)),
    description: 'The time without any activity after which the program has stalled, at least 10 s.',
    omitted: "from the job's own pace: 10 minutes to 2 hours",
    examples: ['15m'],
  },
  gpuIdle: action('gpuIdle', 'A GPU is not used for 10 minutes.'),
  gpuMemoryLowUse: action('gpuMemoryLowUse', 'Less than 40 % of the memory of the GPUs is used.'),
  memoryNearFull: action('memoryNearFull', 'The memory is almost full, or will be within an hour.'),
  diskNearFull: action('diskNearFull', 'The disk is almost full, or will be within an hour.'),
  inputBound: action('inputBound', 'The GPUs wait for data.'),
} as const satisfies Readonly<Record<HealthField | 'stalledAfter', HealthRow>>;

export function healthSchemas(): JsonSchema {
  return { health: mappingSchema(HEALTH_ROWS) };
}

/** The row of `health` in the table of fields. */
export const HEALTH: JobField = {
  type: 'mapping',
  schema: { $ref: '#/$defs/health' },
  description:
    'What follows from what is noticed about the training (docs/health.md): `warn`, `ignore`, or end the program.',
  omitted: 'warnings; a loss that stays NaN ends the job',
  examples: [{ nonFinite: 'warn', stalled: 'restart', stalledAfter: '30m' }],
  synonyms: ['healthCheck', 'healthChecks'],
  goesTo: { spec: 'health', vm: 'config.health' },
  read: (draft, found, findings) => ({
    ...draft,
    health: readMapping(found, { table: HEALTH_ROWS, target: draft.health }, findings),
  }),
};
