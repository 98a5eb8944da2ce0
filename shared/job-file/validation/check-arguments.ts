import type { KeyedText } from '#shared/job-file/draft/job-draft.ts';
import {
  FINDINGS_COUNT_MAX,
  type Findings,
  type Located,
  locationOf,
  reportInvalid,
} from '#shared/job-file/parser/findings.ts';
import { hasProblemAt, quote } from '#shared/job-file/parser/record-findings.ts';
import { CREDENTIAL_KINDS, findCredential } from '#shared/package/scan/credential-patterns.ts';

/** Both are part of one metadata value of the VM, at most 256 KiB, which contains other settings as well. */
const ARGS_BYTES_MAX = 128 << 10;
const ENVIRONMENT_BYTES_MAX = 64 << 10;

/** EnvVar.name of Vertex AI's API: a C identifier. */
export const VARIABLE_NAME_PATTERN = /^[A-Za-z_]\w*$/;

/** Job files, and what prints them, can be read by more people than secrets. */
function warnOfTokens(values: readonly Located<string>[], findings: Findings): void {
  for (const found of values) {
    // It is read as a line of an .env file, since some keys are known by what they are assigned to.
    const kind = findCredential('.env', found.value);
    if (kind !== null) {
      const message = `${found.path} contains ${CREDENTIAL_KINDS[kind]}: everyone who can read the job file or the job can use it.`;
      const remedy =
        'Revoke it, store a new one as a secret, and name that under secrets: { NAME: SECRET }, or pass --set-secrets=NAME=SECRET.';
      findings.warnings.push({ code: 'CREDENTIAL_IN_JOB', message, remedy, ...locationOf(found) });
    }
  }
}

/** The program's arguments; null if one of them cannot be passed to a process. */
export function checkArguments(args: readonly Located<string>[], findings: Findings): readonly string[] | null {
  const invalid = args.find(({ value }) => hasInvalidCharacter(value));
  if (invalid !== undefined) {
    const message = `${invalid.path} contains a NUL character or an unpaired surrogate, which cannot be passed to a program.`;
    findings.problems.push({
      code: 'INVALID_ARGUMENT',
      message,
      remedy: 'Remove the character.',
      ...locationOf(invalid),
    });
    return null;
  }
  const [first] = args;
  const sizeBytes = args.reduce((sum, { value }) => sum + Buffer.byteLength(value) + 1, 0);
  if (sizeBytes > ARGS_BYTES_MAX && first !== undefined) {
    const message = `The arguments have ${sizeBytes} bytes in total; the maximum is ${ARGS_BYTES_MAX}.`;
    const remedy = 'Put the values in a file in a bucket or in the package, and pass its name.';
    findings.problems.push({ code: 'ARGUMENTS_TOO_LARGE', message, remedy, ...locationOf(first) });
    return null;
  }
  // The name of a value may be the argument before it.
  const nameOf = (index: number) => /^-[^=]*$/.exec(args[index - 1]?.value ?? '')?.[0] ?? '';
  warnOfTokens(
    args.map((one, index) => ({ ...one, value: `${nameOf(index)}=${one.value}` })),
    findings,
  );
  return args.map(({ value }) => value);
}

/** The environment variables by name; null if one of them cannot be set. */
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
    const message = `The environment variables have ${sizeBytes} bytes in total; the maximum is ${ENVIRONMENT_BYTES_MAX}.`;
    const remedy = 'Put the values in a file in a bucket or in the package, and pass its name.';
    findings.problems.push({ code: 'ENVIRONMENT_TOO_LARGE', message, remedy, ...locationOf(first) });
    return null;
  }
  const invalid = variables.filter(
    ({ value: { key, text } }) => !VARIABLE_NAME_PATTERN.test(key) || hasInvalidCharacter(text),
  );
  for (const variable of invalid.slice(0, FINDINGS_COUNT_MAX)) {
    rejectVariable(variable, findings);
  }
  warnOfTokens(
    variables.map((one) => ({ ...one, value: `${one.value.key}=${one.value.text}` })),
    findings,
  );
  return invalid.length > 0 ? null : Object.fromEntries(variables.map(({ value: { key, text } }) => [key, text]));
}

/** Vertex AI's variable names are already checked by its parser. */
function rejectVariable(variable: Located<KeyedText>, findings: Findings): void {
  const { key } = variable.value;
  if (VARIABLE_NAME_PATTERN.test(key)) {
    const message = `The environment variable ${key} contains a NUL character or an unpaired surrogate, which cannot be passed to a program.`;
    const remedy = 'Remove the character.';
    findings.problems.push({ code: 'INVALID_ENVIRONMENT', message, remedy, ...locationOf(variable) });
  } else if (!hasProblemAt(variable.path, findings)) {
    const message = `${quote(key)} is not a valid name of an environment variable.`;
    const remedy = 'Use letters, digits and underscores; the first character must not be a digit.';
    reportInvalid({ ...variable, value: key }, { code: 'INVALID_ENVIRONMENT', message, remedy }, findings);
  }
}

/** NUL terminates strings in POSIX, and unpaired surrogates have no UTF-8 encoding. */
function hasInvalidCharacter(text: string): boolean {
  return text.includes('\0') || !text.isWellFormed();
}
