import { EMPTY_DRAFT, emptyPool, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { readFields } from '#shared/job-file/fields/table.ts';
import { JOB_FIELDS, OTHER_SYNONYMS } from '#shared/job-file/formats/dropforge/fields.ts';
import { NOTIFY_FIELDS } from '#shared/job-file/formats/dropforge/notify-fields.ts';
import type { Findings } from '#shared/job-file/parser/findings.ts';
import { openMapping } from '#shared/job-file/parser/open-mapping.ts';
import type { FoundNode } from '#shared/job-file/parser/read-values.ts';
import { TUNE_FIELDS } from '#shared/job-file/tuning/tune-fields.ts';

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
  return Object.hasOwn(JOB_FIELDS, name) && !COMMON_FIELDS.has(name);
}

export const EMPTY_JOB: JobDraft = { ...EMPTY_DRAFT, dialect: 'dropforge', pools: [emptyPool('master', '')] };

/**
 * Reads Dropforge's own format (`docs/job-file.md`) field by field; syntax errors are added to the findings. Durations,
 * GPUs and enumerations are in the draft as AI Platform's API spells them; invalid ones stay as written.
 */
export function readDropforgeJob(root: FoundNode, findings: Findings): JobDraft {
  const names = { parentOf, synonyms: OTHER_SYNONYMS };
  const fields = openMapping(root, JOB_FIELDS, { ...findings, names });
  return readFields(fields, { table: JOB_FIELDS, target: EMPTY_JOB }, { ...findings, names: { parentOf } });
}

/** Where a field in the wrong mapping belongs; undefined for names of several mappings (`type`, `count`, `size`). */
function parentOf(name: string): string | undefined {
  if (Object.hasOwn(JOB_FIELDS, name)) {
    return 'the top level of the file';
  }
  return Object.hasOwn(TUNE_FIELDS, name) ? 'tune' : Object.hasOwn(NOTIFY_FIELDS, name) ? 'notify' : undefined;
}
