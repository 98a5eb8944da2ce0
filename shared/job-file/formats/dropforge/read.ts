import { EMPTY_DRAFT, emptyPool, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { JobField } from '#shared/job-file/fields/field.ts';
import { JOB, JOB_FIELDS } from '#shared/job-file/formats/dropforge/fields.ts';
import type { Findings } from '#shared/job-file/parser/findings.ts';
import { openMapping } from '#shared/job-file/parser/open-mapping.ts';
import type { FoundNode } from '#shared/job-file/parser/read-values.ts';

/**
 * Fields that do not identify the format: jobs of AI Platform and Vertex AI have them at the top as well, or other
 * files beside programs do, such as App Engine's `app.yaml` and the settings of build services.
 */
const COMMON_FIELDS: ReadonlySet<string> = new Set([
  'name',
  'args',
  'packages',
  'region',
  'output',
  'runtime',
  'python',
  'env',
  'secrets',
  'labels',
  'serviceAccount',
  'network',
  'subnetwork',
  'networkAttachment',
]);

/** Whether a field at the top of a file identifies Dropforge's own format; fields of other formats too do not. */
export function isDropforgeField(name: string): boolean {
  return Object.hasOwn(JOB.rules, name) && !COMMON_FIELDS.has(name);
}

const EMPTY_JOB: JobDraft = { ...EMPTY_DRAFT, dialect: 'dropforge', pools: [emptyPool('master', '')] };

/**
 * Reads Dropforge's own format (`docs/job-file.md`) field by field; syntax errors are added to the findings. Durations,
 * GPUs and enumerations are in the draft as AI Platform's API spells them; invalid ones stay as written.
 */
export function readDropforgeJob(root: FoundNode, findings: Findings): JobDraft {
  return readFields(JOB_FIELDS, openMapping(root, JOB, findings), findings);
}

/** Reads the fields of a table in its order. */
export function readFields(
  table: Readonly<Record<string, JobField>>,
  found: Readonly<Record<string, FoundNode | undefined>>,
  findings: Findings,
): JobDraft {
  return Object.entries(table).reduce((draft, [name, { read }]) => read(draft, found[name], findings), EMPTY_JOB);
}
