import type { ProgramOptions } from '#shared/domain/job-spec.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { JobField } from '#shared/job-file/fields/field.ts';
import { JOB_FIELDS } from '#shared/job-file/formats/dropforge/fields.ts';
import type { Findings } from '#shared/job-file/parser/findings.ts';

const ROWS: readonly JobField[] = Object.values(JOB_FIELDS);

/** The options that the file sets; null if one of them is outside its limits, which is reported. */
export function checkProgramOptions(draft: JobDraft, findings: Findings): ProgramOptions | null {
  const areValid = ROWS.filter(({ isProgramOption }) => isProgramOption).map(({ check }) => check(draft, findings));
  const values = Object.entries<{ readonly value: unknown } | undefined>(draft.programOptions).flatMap(
    ([name, option]) => (option === undefined ? [] : [[name, option.value]]),
  );
  return areValid.every(Boolean) ? Object.fromEntries(values) : null;
}
