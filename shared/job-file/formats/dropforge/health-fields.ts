import { HEALTH_FIELDS, type HealthField } from '#shared/domain/health.ts';
import type { HealthDraft } from '#shared/job-file/draft/job-draft.ts';
import {
  custom,
  type Field,
  type JobField,
  mappingSchema,
  rulesOf,
  synonymsOf,
} from '#shared/job-file/fields/field.ts';
import type { JsonSchema } from '#shared/job-file/fields/kind.ts';
import { duration } from '#shared/job-file/formats/dropforge/durations.ts';
import type { Findings } from '#shared/job-file/parser/findings.ts';
import { openMapping, type ParentLookup } from '#shared/job-file/parser/open-mapping.ts';
import { type FoundNode, isEmpty } from '#shared/job-file/parser/read-values.ts';
import { readShortName } from '#shared/job-file/parser/short-names.ts';

const DAY_MS = 86_400_000;
const STALLED_AFTER = duration(DAY_MS);

/** An action of one code: its own name in every format. */
function action(name: HealthField, description: string): Field {
  const { actions } = HEALTH_FIELDS[name];
  return {
    description,
    type: actions.map((each) => `\`${each}\``).join(', '),
    schema: { enum: [...actions], default: actions[0] },
    omitted: `\`${actions[0]}\``,
  };
}

/** The fields of `health` in Dropforge's own format. */
export const HEALTH_ROWS = {
  nonFinite: action(
    'nonFinite',
    'A loss becomes NaN or infinite and stays so. `rollback` continues from the last checkpoint that was saved before the first of them, twice at most.',
  ),
  diverging: action('diverging', 'A loss rises far above its best value.'),
  plateau: action('plateau', 'A loss has not improved for most of the reports.'),
  stalled: action(
    'stalled',
    'The program prints and reports nothing and uses neither processor nor GPU. `restart` continues from the last checkpoint, three times at most.',
  ),
  stalledAfter: {
    description: 'The time without any activity after which the program has stalled, at least 10 s.',
    type: STALLED_AFTER.type,
    schema: STALLED_AFTER.schema,
    omitted: "from the job's own pace: 10 minutes to 2 hours",
    examples: ['15m'],
  },
  gpuIdle: action('gpuIdle', 'A GPU is not used for 10 minutes.'),
  gpuMemoryLowUse: action('gpuMemoryLowUse', 'Less than 40 % of the memory of the GPUs is used.'),
  memoryNearFull: action('memoryNearFull', 'The memory is almost full, or will be within an hour.'),
  diskNearFull: action('diskNearFull', 'The disk is almost full, or will be within an hour.'),
  inputBound: action('inputBound', 'The GPUs wait for data.'),
} as const satisfies Readonly<Record<HealthField | 'stalledAfter', Field>>;

const MESSAGE = { rules: rulesOf(HEALTH_ROWS), synonyms: synonymsOf(HEALTH_ROWS, { nan: 'nonFinite' }) };

export function healthSchemas(): JsonSchema {
  return { health: mappingSchema(HEALTH_ROWS) };
}

/** The row of `health` in the table of fields. */
export function healthField(parentOf: ParentLookup): JobField {
  return custom(
    { type: 'mapping', schema: { $ref: '#/$defs/health' } },
    {
      description:
        'What follows from what is noticed about the training (docs/health.md): `warn`, `ignore`, or end the program.',
      omitted: 'warnings; a loss that stays NaN ends the job',
      examples: [{ nonFinite: 'warn', stalled: 'restart', stalledAfter: '30m' }],
      synonyms: ['healthCheck', 'healthChecks'],
      goesTo: { spec: 'health', vm: 'config.health' },
      read: (draft, found, findings) => ({ ...draft, health: found ? readHealth(found, parentOf, findings) : {} }),
    },
  );
}

function readHealth(found: FoundNode, parentOf: ParentLookup, findings: Findings): HealthDraft {
  if (isEmpty(found.node, found.path, findings)) {
    return {};
  }
  const fields = openMapping(found, { ...MESSAGE, parentOf }, findings);
  const actions = Object.entries(HEALTH_FIELDS).flatMap(([name, row]) => {
    const names = Object.fromEntries(row.actions.map((each) => [each, each]));
    const value = readShortName(fields[name as HealthField], names, findings);
    return value === undefined ? [] : [[name, value]];
  });
  const stalledAfter = STALLED_AFTER.read(fields.stalledAfter, findings);
  return { ...Object.fromEntries(actions), ...(stalledAfter && { stalledAfter }) };
}
