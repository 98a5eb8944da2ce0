import { describe, expect, it } from 'vitest';
import { EMPTY_DRAFT, emptyPool, listDraftValues } from '#shared/job-file/draft/job-draft.ts';
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

/** Whether a field accepts a value, and the draft has it then. */
function isRead(rule: SlotRule, sample: unknown): boolean {
  const { root } = parseSource(printYaml({ field: sample }), 'job.yaml');
  const node = root?.kind === 'MAPPING' ? root.entries[0]?.value : undefined;
  const findings = createFindings();
  const empty = { ...EMPTY_DRAFT, pools: [emptyPool('master', '')] };
  const values = listDraftValues(rule.read(empty, node && { path: 'field', node }, findings));
  return findings.problems.length === 0 && findings.warnings.length === 0 && values.length === 1;
}

describe('fields of AI Platform and Vertex AI with a slot in the draft', () => {
  it('are the scalars of a job', () => {
    expect(SLOTS.length).toBeGreaterThan(20);
  });

  it.each(SLOTS)('%s: is read into the draft', (_, rule) => {
    expect(SAMPLES.map((sample) => isRead(rule, sample))).toContain(true);
  });
});
