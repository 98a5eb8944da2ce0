import { describe, expect, it } from 'vitest';
import { EMPTY_DRAFT, emptyPool, listDraftValues } from '#shared/job-file/draft/job-draft.ts';
import type { Row } from '#shared/job-file/fields/table.ts';
import * as aiPlatform from '#shared/job-file/formats/ai-platform/fields.ts';
import * as vertexAi from '#shared/job-file/formats/vertex-ai/fields.ts';
import * as vertexPools from '#shared/job-file/formats/vertex-ai/read-worker-pool.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { parseSource } from '#shared/job-file/parser/parse-source.ts';
import { printYaml } from '../../support/job-file/read-own-job.ts';

/** One value for each kind of field. */
const SAMPLES = ['a', '1', ['a'], { a: 'b' }, true];

type Scalar = { readonly read: NonNullable<Row<object>['read']>; readonly type: string };

/** Mappings within a message have a table of their own. */
function isScalar(row: object): row is Scalar {
  return 'read' in row && 'type' in row && row.type !== 'message';
}

const SCALARS = [aiPlatform, vertexAi, vertexPools].flatMap((format) =>
  Object.entries(format).flatMap(([message, table]) =>
    Object.entries<unknown>(typeof table === 'object' ? { ...table } : {}).flatMap(([name, row]) =>
      typeof row === 'object' && row !== null && isScalar(row) ? [[`${message}.${name}`, row] as const] : [],
    ),
  ),
);

/** Whether a field accepts a value, and its target has it then. */
function isRead({ read }: Scalar, sample: unknown): boolean {
  const { root } = parseSource(printYaml({ field: sample }), 'job.yaml');
  const node = root?.kind === 'MAPPING' ? root.entries[0]?.value : undefined;
  const findings = createFindings();
  // The target of any message: a job, a pool or a program.
  const pool = emptyPool('master', '');
  const empty = { ...EMPTY_DRAFT, ...pool, pools: [pool], study: { path: '', metrics: [] } };
  const values = listDraftValues(read(empty, node && { path: 'field', node }, findings) as typeof empty);
  return findings.problems.length === 0 && findings.warnings.length === 0 && values.length === 1;
}

describe('fields of AI Platform and Vertex AI with a kind of value', () => {
  it('are the scalars of a job, its pools and its programs', () => {
    expect(SCALARS.length).toBeGreaterThan(40);
  });

  it.each(SCALARS)('%s: is read into the draft', (_, rule) => {
    expect(SAMPLES.map((sample) => isRead(rule, sample))).toContain(true);
  });
});
