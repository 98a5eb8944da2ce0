import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import { type Findings, placeOf } from '#shared/spec/findings.ts';
import type { JobDraft } from '#shared/spec/job-draft.ts';

const JOB_ID_CHARACTERS_MAX = 128;

/** Google Cloud's rules for labels (Resource Manager docs, "Labels overview"). */
const LABELS_COUNT_MAX = 64;
const LABEL_KEY_PATTERN = /^[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}$/u;
const LABEL_VALUE_PATTERN = /^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$/u;

/** The job's id; null where it is missing or wrong, which is then among the findings. */
export function checkJobId({ jobId }: JobDraft, jobIdDefault: string | undefined, findings: Findings): string | null {
  const written = jobId ?? (jobIdDefault === undefined ? undefined : { value: jobIdDefault, path: 'jobId' });
  if (written === undefined) {
    const remedy = 'Write jobId: a letter, then letters, digits and underscores.';
    findings.problems.push({ code: 'MISSING_FIELD', message: 'jobId is missing.', remedy, path: 'jobId' });
    return null;
  }
  if (JOB_ID_PATTERN.test(written.value)) {
    return written.value;
  }
  const shown = written.value.slice(0, JOB_ID_CHARACTERS_MAX);
  const message = `"${shown}" is no job id: it must be a letter, then letters, digits and underscores, ${JOB_ID_CHARACTERS_MAX} at most.`;
  findings.problems.push({
    code: 'INVALID_JOB_ID',
    message,
    remedy: `Write, say, ${suggestJobId(written.value)}`,
    ...placeOf(written),
  });
  return null;
}

/** The nearest legal job id. */
export function suggestJobId(text: string): string {
  const legal = text.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '');
  const begun = /^[A-Za-z]/.test(legal) ? legal : `job_${legal}`;
  return begun.slice(0, JOB_ID_CHARACTERS_MAX).replace(/_+$/, '');
}

/** The job's labels; null where one breaks Google Cloud's rules for labels, which is then among the findings. */
export function checkLabels({ labels }: JobDraft, findings: Findings): Readonly<Record<string, string>> | null {
  const wrong = labels.filter(
    ({ value: { key, text } }) => !LABEL_KEY_PATTERN.test(key) || !LABEL_VALUE_PATTERN.test(text),
  );
  for (const label of wrong) {
    const { key, text } = label.value;
    const message = `"${key}: ${text}" is no label.`;
    const remedy = 'Use small letters, digits, "_" and "-", 63 at most, with a letter first in the key.';
    findings.problems.push({ code: 'INVALID_LABEL', message, remedy, ...placeOf(label) });
  }
  const [first] = labels;
  if (labels.length > LABELS_COUNT_MAX && first !== undefined) {
    const message = `The job has ${labels.length} labels; it may have ${LABELS_COUNT_MAX}.`;
    findings.problems.push({
      code: 'TOO_MANY_LABELS',
      message,
      remedy: 'Remove some.',
      path: 'labels',
      ...(first.line && { line: first.line }),
    });
    return null;
  }
  return wrong.length > 0 ? null : Object.fromEntries(labels.map(({ value: { key, text } }) => [key, text]));
}
