import type { KeyedText } from '#shared/job-file/draft/job-draft.ts';
import {
  FINDINGS_COUNT_MAX,
  type Findings,
  type Located,
  locationOf,
  reportInvalid,
} from '#shared/job-file/parser/findings.ts';
import { hasProblemAt, quote } from '#shared/job-file/parser/record-findings.ts';

/** Both travel in a metadata value of the VM, which has at most 256 KiB, and other things are in it. */
const ARGS_BYTES_MAX = 128 << 10;
const ENVIRONMENT_BYTES_MAX = 64 << 10;

/** EnvVar.name of Vertex AI's API: a C identifier. */
export const VARIABLE_NAME_PATTERN = /^[A-Za-z_]\w*$/;

/** The texts that a program is started with; null where one cannot be passed, which is then among the findings. */
export function checkArguments(args: readonly Located<string>[], findings: Findings): readonly string[] | null {
  const broken = args.find(({ value }) => isUnpassable(value));
  if (broken !== undefined) {
    const message = `${broken.path} holds a NUL or half a character, which no program can be given.`;
    findings.problems.push({
      code: 'INVALID_ARGUMENT',
      message,
      remedy: 'Remove the character.',
      ...locationOf(broken),
    });
    return null;
  }
  const [first] = args;
  const sizeBytes = args.reduce((sum, { value }) => sum + Buffer.byteLength(value) + 1, 0);
  if (sizeBytes > ARGS_BYTES_MAX && first !== undefined) {
    const message = `The arguments have ${sizeBytes} bytes together; a job may have ${ARGS_BYTES_MAX}.`;
    const remedy = 'Put the values into a file in the bucket or in the package, and pass its name.';
    findings.problems.push({ code: 'ARGUMENTS_TOO_LARGE', message, remedy, ...locationOf(first) });
    return null;
  }
  return args.map(({ value }) => value);
}

/** The variables by their names; null where one cannot be set, which is then among the findings. */
export function checkEnvironment(
  variables: readonly Located<KeyedText>[],
  findings: Findings,
): Readonly<Record<string, string>> | null {
  const [first] = variables;
  const sizeBytes = variables.reduce(
    (sum, { value: { key, text } }) => sum + Buffer.byteLength(key) + Buffer.byteLength(text) + 2,
    0,
  );
  if (sizeBytes > ENVIRONMENT_BYTES_MAX && first !== undefined) {
    const message = `The environment variables have ${sizeBytes} bytes together; a job may have ${ENVIRONMENT_BYTES_MAX}.`;
    const remedy = 'Put the values into a file in the bucket or in the package, and pass its name.';
    findings.problems.push({ code: 'ENVIRONMENT_TOO_LARGE', message, remedy, ...locationOf(first) });
    return null;
  }
  const broken = variables.filter(({ value: { key, text } }) => !VARIABLE_NAME_PATTERN.test(key) || isUnpassable(text));
  for (const variable of broken.slice(0, FINDINGS_COUNT_MAX)) {
    tellBroken(variable, findings);
  }
  return broken.length > 0 ? null : Object.fromEntries(variables.map(({ value: { key, text } }) => [key, text]));
}

/** Vertex AI's names are judged by their reader already. */
function tellBroken(variable: Located<KeyedText>, findings: Findings): void {
  const { key } = variable.value;
  if (VARIABLE_NAME_PATTERN.test(key)) {
    const message = `The environment variable ${key} holds a NUL or half a character, which no program can be given.`;
    const remedy = 'Remove the character.';
    findings.problems.push({ code: 'INVALID_ENVIRONMENT', message, remedy, ...locationOf(variable) });
  } else if (!hasProblemAt(variable.path, findings)) {
    const message = `${quote(key)} can be no environment variable.`;
    const remedy = 'Write a name of letters, digits and _, with no digit at its start.';
    reportInvalid({ ...variable, value: key }, { code: 'INVALID_ENVIRONMENT', message, remedy }, findings);
  }
}

/** POSIX ends a text at NUL, and half a character has no UTF-8. */
function isUnpassable(text: string): boolean {
  return text.includes('\0') || !text.isWellFormed();
}
