import { isReservedLabel, JOB_ID_PATTERN, OWN_LABELS_COUNT_MAX } from '#shared/domain/job-spec.ts';
import { fieldPath } from '#shared/job-file/draft/field-paths.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { findPlaceholder } from '#shared/job-file/parser/placeholder.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';

const JOB_ID_CHARACTERS_MAX = 128;

/** Vertex AI's limit (CustomJob.displayName); any character goes. */
const DISPLAY_NAME_CHARACTERS_MAX = 128;

/** A VM has at most 64 labels (Compute Engine docs, "Label resources"), and Dropforge's own are among them. */
const VM_LABELS_COUNT_MAX = 64;

export const LABELS_COUNT_MAX = VM_LABELS_COUNT_MAX - OWN_LABELS_COUNT_MAX;

/** Google Cloud's rules for labels (Resource Manager docs, "Labels overview"). */
const LABEL_KEY_PATTERN = /^[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}$/u;
const LABEL_VALUE_PATTERN = /^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$/u;

/**
 * The job's id, of Vertex AI's display name where there is none; null where it is missing or wrong, which is then among
 * the findings.
 */
export function checkJobId(draft: JobDraft, jobIdDefault: string | undefined, findings: Findings): string | null {
  const { jobId, displayName } = draft;
  if (jobId === undefined && displayName !== undefined && displayName.value !== '') {
    return makeJobId(displayName, findings);
  }
  const path = fieldPath(draft.dialect, 'jobId');
  const written = jobId ?? (jobIdDefault === undefined ? undefined : { value: jobIdDefault, path });
  if (written === undefined) {
    const form = draft.dialect === 'vertex-ai' ? 'any name' : 'a letter, then letters, digits and underscores';
    const remedy = `Write ${path}: ${form}.`;
    findings.problems.push({ code: 'MISSING_FIELD', message: `${path} is missing.`, remedy, path });
    return null;
  }
  if (JOB_ID_PATTERN.test(written.value)) {
    return written.value;
  }
  const message = `${quote(written.value)} is no job id: it must be a letter, then letters, digits and underscores, ${JOB_ID_CHARACTERS_MAX} at most.`;
  const remedy = `Write, say, ${suggestJobId(written.value)}`;
  reportInvalid(written, { code: 'INVALID_JOB_ID', message, remedy }, findings);
  return null;
}

function makeJobId(displayName: Located<string>, findings: Findings): string | null {
  const { value } = displayName;
  const characterCount = [...value].length;
  if (characterCount > DISPLAY_NAME_CHARACTERS_MAX || findPlaceholder(value, displayName.path) !== undefined) {
    const message = `${displayName.path} has ${characterCount} characters; it may have ${DISPLAY_NAME_CHARACTERS_MAX}.`;
    reportInvalid(displayName, { code: 'DISPLAY_NAME_TOO_LONG', message, remedy: 'Write a shorter name.' }, findings);
    return null;
  }
  const jobId = suggestJobId(value);
  if (jobId !== value) {
    const message = `The job's id is ${jobId}, made of the name ${quote(value)}: ids have letters, digits and underscores alone.`;
    const remedy = 'Name the job so, or give it another id when it is submitted.';
    findings.warnings.push({ code: 'JOB_ID_FROM_DISPLAY_NAME', message, remedy, ...locationOf(displayName) });
  }
  return jobId;
}

/** The nearest legal job id. */
export function suggestJobId(text: string): string {
  const legal = text.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '');
  const begun = /^[A-Za-z]/.test(legal) ? legal : `job_${legal}`;
  return begun.slice(0, JOB_ID_CHARACTERS_MAX).replace(/_+$/, '');
}

/**
 * The job's labels; null where one breaks Google Cloud's rules for labels or takes the place of Dropforge's own, or where
 * there are too many, which is then among the findings.
 */
export function checkLabels({ labels }: JobDraft, findings: Findings): Readonly<Record<string, string>> | null {
  const wrong = labels.filter(
    ({ value: { key, text } }) => !LABEL_KEY_PATTERN.test(key) || !LABEL_VALUE_PATTERN.test(text),
  );
  for (const label of wrong) {
    const { key, text } = label.value;
    const message = `${quote(`${key}: ${text}`)} is no label.`;
    const remedy = 'Use small letters, digits, "_" and "-", 63 at most, with a letter first in the key.';
    reportInvalid({ ...label, value: text }, { code: 'INVALID_LABEL', message, remedy }, findings);
  }
  const reserved = labels.filter((label) => !wrong.includes(label) && isReservedLabel(label.value.key));
  for (const { value, ...place } of reserved) {
    const message = `The label ${value.key} is Dropforge's own: by such labels it knows whose a VM is.`;
    const remedy = 'Choose a key that is not managed-by and does not begin with dropforge.';
    findings.problems.push({ code: 'RESERVED_LABEL', message, remedy, ...locationOf(place) });
  }
  return hasRoom(labels, findings) && wrong.length + reserved.length === 0
    ? Object.fromEntries(labels.map(({ value: { key, text } }) => [key, text]))
    : null;
}

function hasRoom(labels: JobDraft['labels'], findings: Findings): boolean {
  const [first] = labels;
  if (labels.length <= LABELS_COUNT_MAX || first === undefined) {
    return true;
  }
  const message = `The job has ${labels.length} labels; it may have ${LABELS_COUNT_MAX}, for its VMs have Dropforge's beside them.`;
  const line = first.line && { line: first.line };
  findings.problems.push({ code: 'TOO_MANY_LABELS', message, remedy: 'Remove some.', path: 'labels', ...line });
  return false;
}
