import type { JobSpec, SecretReference } from '#shared/domain/job-spec.ts';
import type { JobDraft, KeyedText } from '#shared/job-file/draft/job-draft.ts';
import {
  FINDINGS_COUNT_MAX,
  type Findings,
  type FindingText,
  type Located,
  locationOf,
  reportInvalid,
} from '#shared/job-file/parser/findings.ts';
import { findPlaceholder } from '#shared/job-file/parser/placeholder.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import { VARIABLE_NAME_PATTERN } from '#shared/job-file/validation/check-arguments.ts';
import { CREDENTIAL_KINDS, findCredential } from '#shared/package/scan/credential-signs.ts';
import { isServiceVariable } from '#shared/protocol/service-variables.ts';

/** So many of 64 KiB each, Secret Manager's limit, fit beside arguments and variables into Linux's 2 MiB for both. */
const SECRETS_COUNT_MAX = 20;

/** Secret Manager, "projects.secrets.create" (secretId) and "Assign an alias to a secret version". */
const NAME = '([A-Za-z0-9_-]{1,255})';
const VERSION = '(latest|[1-9]\\d{0,18}|[A-Za-z][A-Za-z0-9_-]{0,62})';
/** An id, in old organisations `example.com:my-project`, or a number. */
const PROJECT = '((?:[a-z0-9.-]{1,100}:)?[a-z0-9][a-z0-9-]{0,61})';

const SHORT_PATTERN = new RegExp(`^${NAME}(?::${VERSION})?$`);
const FULL_PATTERN = new RegExp(`^projects/${PROJECT}/secrets/${NAME}(?:/versions/${VERSION})?$`);

const REFERENCE_REMEDY =
  'Name a secret of Secret Manager: hf-token, hf-token:3 for its version 3, or projects/PROJECT/secrets/hf-token/versions/3.';

/**
 * The secrets that the job's environment holds, by variables; null where one cannot be set or is none, which is then
 * among the findings. No finding repeats what is written in a reference's place: it may be the secret itself.
 */
export function checkSecrets(draft: JobDraft, findings: Findings): JobSpec['secrets'] | null {
  const [first] = draft.secrets;
  if (draft.secrets.length > SECRETS_COUNT_MAX && first !== undefined) {
    const message = `The job has ${draft.secrets.length} secrets; it may have ${SECRETS_COUNT_MAX}.`;
    const remedy = 'Put values that belong together into one secret, as JSON for example.';
    findings.problems.push({ code: 'TOO_MANY_SECRETS', message, remedy, ...locationOf(first) });
    return null;
  }
  const known = new Set(draft.pools.flatMap(({ program }) => program.environment.map(({ value }) => value.key)));
  const read = draft.secrets.map((written) => {
    const isVariable = checkVariable(written, known, findings);
    const reference = checkReference(written, findings);
    return isVariable && reference !== null ? ([written.value.key, reference] as const) : null;
  });
  return read.every((pair) => pair !== null) ? Object.fromEntries(read) : null;
}

function checkVariable(written: Located<KeyedText>, environment: ReadonlySet<string>, { problems }: Findings): boolean {
  const words = judgeVariable(written.value.key, environment);
  if (words !== null && problems.length < FINDINGS_COUNT_MAX) {
    problems.push({ ...words, ...locationOf(written) });
  }
  return words === null;
}

function judgeVariable(name: string, environment: ReadonlySet<string>): FindingText | null {
  if (!VARIABLE_NAME_PATTERN.test(name)) {
    return {
      code: 'INVALID_ENVIRONMENT',
      message: `${quote(name)} can be no environment variable.`,
      remedy: 'Write a name of letters, digits and _, with no digit at its start.',
    };
  }
  if (isServiceVariable(name)) {
    return {
      code: 'RESERVED_VARIABLE',
      message: `The environment variable ${name} is set by Dropforge itself, and can hold no secret.`,
      remedy: 'Choose another name, and have the program read that.',
    };
  }
  return environment.has(name)
    ? {
        code: 'VARIABLE_TWICE',
        message: `The environment variable ${name} has a value already, and is to hold a secret, too.`,
        remedy: 'Remove one of the two.',
      }
    : null;
}

function checkReference(written: Located<KeyedText>, findings: Findings): SecretReference | null {
  const { key, text } = written.value;
  const credential = findCredential('', text);
  if (credential !== null) {
    const message = `In place of the name of a secret, ${quote(key)} has ${CREDENTIAL_KINDS[credential]}.`;
    const remedy = `Take it out, and revoke it if the file was shared. ${REFERENCE_REMEDY}`;
    findings.problems.push({ code: 'SECRET_IN_JOB_FILE', message, remedy, ...locationOf(written) });
    return null;
  }
  const reference = parseReference(text);
  if (reference === null) {
    const message = `What ${quote(key)} is to hold is no name of a secret.`;
    // A placeholder is quoted: only what is one as a whole is no part of a secret.
    const value = findPlaceholder(text, written.path) === text ? text : '';
    reportInvalid({ ...written, value }, { code: 'INVALID_SECRET', message, remedy: REFERENCE_REMEDY }, findings);
  }
  return reference;
}

function parseReference(text: string): SecretReference | null {
  const [, shortName, shortVersion = 'latest'] = SHORT_PATTERN.exec(text) ?? [];
  if (shortName !== undefined) {
    return { project: null, secret: shortName, version: shortVersion };
  }
  const [, project, secret, version = 'latest'] = FULL_PATTERN.exec(text) ?? [];
  return project === undefined || secret === undefined ? null : { project, secret, version };
}
