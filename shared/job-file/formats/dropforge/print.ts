import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { omitUndefined } from '#shared/job-file/draft/print-fields.ts';
import type { JobField } from '#shared/job-file/fields/field.ts';
import { JOB_FIELDS } from '#shared/job-file/formats/dropforge/fields.ts';
import { isDropforgeField } from '#shared/job-file/formats/dropforge/read.ts';

/**
 * Prints a draft in Dropforge's own format; reading it gives the same draft except for locations. Parts of the draft
 * that the format has no field for are omitted; drafts read from it have none.
 */
export function printDropforgeJob(draft: JobDraft): Record<string, unknown> {
  const fields = printFields(JOB_FIELDS, draft);
  // The reader recognizes the format by a field that other formats do not have.
  return Object.keys(fields).some(isDropforgeField) ? fields : { module: null, ...fields };
}

/** Prints the fields of a table in its order. */
export function printFields(table: Readonly<Record<string, JobField>>, draft: JobDraft): Record<string, unknown> {
  return omitUndefined(Object.fromEntries(Object.entries(table).map(([name, { print }]) => [name, print(draft)])));
}
