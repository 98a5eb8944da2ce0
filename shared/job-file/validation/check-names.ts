import { isReservedLabel, JOB_ID_PATTERN, OWN_LABELS_COUNT_MAX } from '#shared/domain/job-spec.ts';
import { fieldPath, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { findPlaceholder } from '#shared/job-file/parser/placeholder.ts';
import { quote, rejectMissing } from '#shared/job-file/parser/record-findings.ts';
import { TRIAL_JOB_ID_PATTERN, TUNING_ID_CHARS_MAX } from '#shared/tuning/trial.ts';

const JOB_ID_CHARACTERS_MAX = 128;

/** Vertex AI's limit (CustomJob.displayName); all characters are allowed. */
const DISPLAY_NAME_CHARACTERS_MAX = 128;

/** A VM has at most 64 labels (Compute Engine docs, "Label resources"), including Dropforge's own. */
const VM_LABELS_COUNT_MAX = 64;

export const LABELS_COUNT_MAX = VM_LABELS_COUNT_MAX - OWN_LABELS_COUNT_MAX;

/** Google Cloud's rules for labels (Resource Manager docs, "Labels overview"). */
const LABEL_KEY_PATTERN = /^[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}$/u;
const LABEL_VALUE_PATTERN = /^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$/u;

/** The job's id, by default derived from Vertex AI's display name; null if it is missing or invalid. */
export function checkJobId(draft: JobDraft, jobIdDefault: string | undefined, findings: Findings): string | null {
  const { jobId, displayName } = draft;
  if (jobId === undefined && displayName !== undefined && displayName.value !== '') {
    return deriveJobId(displayName, idCharactersMax(draft), findings);
  }
  const path = fieldPath(draft.dialect, 'jobId');
  const given = jobId ?? (jobIdDefault === undefined ? undefined : { value: jobIdDefault, path });
  if (given === undefined) {
    const form = draft.dialect === 'vertex-ai' ? 'any name' : 'a letter followed by letters, digits and underscores';
    return rejectMissing(path, `Write ${path}: ${form}.`, findings);
  }
  if (JOB_ID_PATTERN.test(given.value)) {
    return checkReserved(given, idCharactersMax(draft), findings);
  }
  const message = `${quote(given.value)} is not a valid job id: it must be a letter followed by letters, digits and underscores, at most ${JOB_ID_CHARACTERS_MAX} characters.`;
  const remedy = `For example: ${suggestJobId(given.value)}`;
  reportInvalid(given, { code: 'INVALID_JOB_ID', message, remedy }, findings);
  return null;
}

/** The ids of trials are longer than that of their tuning. */
function idCharactersMax({ study }: JobDraft): number {
  return study === undefined ? JOB_ID_CHARACTERS_MAX : TUNING_ID_CHARS_MAX;
}

function checkReserved(jobId: Located<string>, charactersMax: number, findings: Findings): string | null {
  const { value } = jobId;
  if (value.length > charactersMax) {
    const message = `The job id has ${value.length} characters; a tuning job has at most ${charactersMax}, because the ids of its trials are longer.`;
    const remedy = `For example: ${suggestJobId(value, charactersMax)}`;
    findings.problems.push({ code: 'INVALID_JOB_ID', message, remedy, ...locationOf(jobId) });
    return null;
  }
  if (TRIAL_JOB_ID_PATTERN.test(value)) {
    const message = `${quote(value)} is reserved: ids that end in _trial_ and a number are those of a tuning job's trials.`;
    const remedy = `For example: ${value.replace(TRIAL_JOB_ID_PATTERN, (suffix) => suffix.replaceAll('_', ''))}`;
    findings.problems.push({ code: 'RESERVED_JOB_ID', message, remedy, ...locationOf(jobId) });
    return null;
  }
  return value;
}

function deriveJobId(displayName: Located<string>, charactersMax: number, findings: Findings): string | null {
  const { value } = displayName;
  const characterCount = [...value].length;
  if (characterCount > DISPLAY_NAME_CHARACTERS_MAX || findPlaceholder(value, displayName.path) !== undefined) {
    const message = `${displayName.path} has ${characterCount} characters; the maximum is ${DISPLAY_NAME_CHARACTERS_MAX}.`;
    reportInvalid(displayName, { code: 'DISPLAY_NAME_TOO_LONG', message, remedy: 'Write a shorter name.' }, findings);
    return null;
  }
  const jobId = checkReserved({ ...displayName, value: suggestJobId(value, charactersMax) }, charactersMax, findings);
  if (jobId !== null && jobId !== value) {
    const message = `The job id is ${jobId}, derived from the name ${quote(value)}: job ids contain only letters, digits and underscores.`;
    const remedy = 'Use this name, or choose another job id when submitting the job.';
    findings.warnings.push({ code: 'JOB_ID_FROM_DISPLAY_NAME', message, remedy, ...locationOf(displayName) });
  }
  return jobId;
}

/** A valid job id that resembles the text. */
export function suggestJobId(text: string, charactersMax = JOB_ID_CHARACTERS_MAX): string {
  const replaced = text.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '');
  const prefixed = /^[A-Za-z]/.test(replaced) ? replaced : `job_${replaced}`;
  return prefixed.slice(0, charactersMax).replace(/_+$/, '');
}

/** The job's labels; null if one is invalid or reserved by Dropforge, or if there are too many. */
export function checkLabels({ labels }: JobDraft, findings: Findings): Readonly<Record<string, string>> | null {
  const invalid = labels.filter(
    ({ value: { key, text } }) => !LABEL_KEY_PATTERN.test(key) || !LABEL_VALUE_PATTERN.test(text),
  );
  for (const label of invalid) {
    const { key, text } = label.value;
    const message = `${quote(`${key}: ${text}`)} is not a valid label.`;
    const remedy = 'Use at most 63 lowercase letters, digits, "_" and "-"; a key starts with a letter.';
    reportInvalid({ ...label, value: text }, { code: 'INVALID_LABEL', message, remedy }, findings);
  }
  const reserved = labels.filter((label) => !invalid.includes(label) && isReservedLabel(label.value.key));
  for (const { value, ...location } of reserved) {
    const message = `The label ${value.key} is reserved: Dropforge uses it to identify its VMs.`;
    const remedy = 'Choose a key other than managed-by that does not start with dropforge.';
    findings.problems.push({ code: 'RESERVED_LABEL', message, remedy, ...locationOf(location) });
  }
  return isWithinLimit(labels, findings) && invalid.length + reserved.length === 0
    ? Object.fromEntries(labels.map(({ value: { key, text } }) => [key, text]))
    : null;
}

function isWithinLimit(labels: JobDraft['labels'], findings: Findings): boolean {
  const [first] = labels;
  if (labels.length <= LABELS_COUNT_MAX || first === undefined) {
    return true;
  }
  const message = `The job has ${labels.length} labels; the maximum is ${LABELS_COUNT_MAX}, because VMs also have Dropforge's labels.`;
  const line = first.line && { line: first.line };
  findings.problems.push({ code: 'TOO_MANY_LABELS', message, remedy: 'Remove some.', path: 'labels', ...line });
  return false;
}
