import { describe, expect, it } from 'vitest';
import { EMPTY_DRAFT, emptyPool } from '#shared/job-file/draft/job-draft.ts';
import type { readInto } from '#shared/job-file/fields/field.ts';
import * as aiPlatform from '#shared/job-file/formats/ai-platform/fields.ts';
import * as vertexAi from '#shared/job-file/formats/vertex-ai/fields.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import type { FieldRule } from '#shared/job-file/parser/open-mapping.ts';
import { parseSource } from '#shared/job-file/parser/parse-source.ts';
import { printYaml } from '../../support/job-file/read-own-job.ts';

type SlotRule = ReturnType<typeof readInto>;

/** One value for each kind of field. */
const SAMPLES = ['a', ['a'], { a: 'b' }, true];

const MESSAGES = [...Object.entries(aiPlatform), ...Object.entries(vertexAi)].flatMap(([message, value]) =>
  typeof value === 'object' && 'rules' in value
    ? Object.entries<FieldRule | SlotRule>(value.rules).map(([name, rule]) => [`${message}.${name}`, rule] as const)
    : [],
);

const SLOTS = MESSAGES.flatMap(([name, rule]) => ('read' in rule ? [[name, rule] as const] : []));

/** What a field prints after reading a value; undefined if it does not accept the value. */
function reprint(rule: SlotRule, sample: unknown): unknown {
  const { root } = parseSource(printYaml({ field: sample }), 'job.yaml');
  const node = root?.kind === 'MAPPING' ? root.entries[0]?.value : undefined;
  const findings = createFindings();
  const empty = { ...EMPTY_DRAFT, pools: [emptyPool('master', '')] };
  const printed = rule.print(rule.read(empty, node && { path: 'field', node }, findings));
  const isAccepted = findings.problems.length === 0 && findings.warnings.length === 0;
  return isAccepted ? (printed instanceof Map ? Object.fromEntries(printed) : printed) : undefined;
}

describe('fields of AI Platform and Vertex AI with a slot in the draft', () => {
  it('are the scalars of a job', () => {
    expect(SLOTS.length).toBeGreaterThan(20);
  });

  it.each(SLOTS)('%s: prints the value that it read', (_, rule) => {
    expect(SAMPLES.map((sample) => JSON.stringify(reprint(rule, sample)) === JSON.stringify(sample))).toContain(true);
  });
});
