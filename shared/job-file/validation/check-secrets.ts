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
import { CREDENTIAL_KINDS, findCredential } from '#shared/package/scan/credential-patterns.ts';
import { isServiceVariable } from '#shared/protocol/service-variables.ts';

/** With 64 KiB each, Secret Manager's limit, they fit beside arguments and variables into Linux's limit of 2 MiB. */
const SECRETS_COUNT_MAX = 20;

/** Secret Manager, "projects.secrets.create" (secretId) and "Assign an alias to a secret version". */
const NAME = '([A-Za-z0-9_-]{1,255})';
const VERSION = '(latest|[1-9]\\d{0,18}|[A-Za-z][A-Za-z0-9_-]{0,62})';
/** A project id, in old organizations `example.com:my-project`, or number. */
const PROJECT = '((?:[a-z0-9.-]{1,100}:)?[a-z0-9][a-z0-9-]{0,61})';

const SHORT_PATTERN = new RegExp(`^${NAME}(?::${VERSION})?$`);
const FULL_PATTERN = new RegExp(`^projects/${PROJECT}/secrets/${NAME}(?:/versions/${VERSION})?$`);

const REFERENCE_REMEDY =
  'Write a Secret Manager secret: hf-token, hf-token:3 for version 3, or projects/PROJECT/secrets/hf-token/versions/3.';

/**
 * The job's secrets by environment variable; null if a variable or reference is invalid. No finding quotes an invalid
 * reference, which may be the secret itself.
 */
export function checkSecrets(draft: JobDraft, findings: Findings): JobSpec['secrets'] | null {
  const [first] = draft.secrets;
  if (draft.secrets.length > SECRETS_COUNT_MAX && first !== undefined) {
    const message = `The job has ${draft.secrets.length} secrets; the maximum is ${SECRETS_COUNT_MAX}.`;
    const remedy = 'Combine related values in one secret, for example as JSON.';
    findings.problems.push({ code: 'TOO_MANY_SECRETS', message, remedy, ...locationOf(first) });
    return null;
  }
  const variables = new Set(draft.pools.flatMap(({ program }) => program.environment.map(({ value }) => value.key)));
  const references = draft.secrets.map((given) => {
    const isVariable = checkVariable(given, variables, findings);
    const reference = checkReference(given, findings);
    return isVariable && reference !== null ? ([given.value.key, reference] as const) : null;
  });
  return references.every((pair) => pair !== null) ? Object.fromEntries(references) : null;
}

function checkVariable(given: Located<KeyedText>, environment: ReadonlySet<string>, { problems }: Findings): boolean {
  const text = describeVariableProblem(given.value.key, environment);
  if (text !== null && problems.length < FINDINGS_COUNT_MAX) {
    problems.push({ ...text, ...locationOf(given) });
  }
  return text === null;
}

function describeVariableProblem(name: string, environment: ReadonlySet<string>): FindingText | null {
  if (!VARIABLE_NAME_PATTERN.test(name)) {
    return {
      code: 'INVALID_ENVIRONMENT',
      message: `${quote(name)} is not a valid name of an environment variable.`,
      remedy: 'Use letters, digits and underscores; the first character must not be a digit.',
    };
  }
  if (isServiceVariable(name)) {
    return {
      code: 'RESERVED_VARIABLE',
      message: `The environment variable ${name} is set by Dropforge and cannot contain a secret.`,
      remedy: 'Choose another name, and change the program to read it.',
    };
  }
  return environment.has(name)
    ? {
        code: 'VARIABLE_TWICE',
        message: `The environment variable ${name} has both a value and a secret.`,
        remedy: 'Remove one of the two.',
      }
    : null;
}

function checkReference(given: Located<KeyedText>, findings: Findings): SecretReference | null {
  const { key, text } = given.value;
  const credential = findCredential('', text);
  if (credential !== null) {
    const message = `${quote(key)} contains ${CREDENTIAL_KINDS[credential]} instead of the name of a secret.`;
    const remedy = `Remove it, and revoke it if the file was shared. ${REFERENCE_REMEDY}`;
    findings.problems.push({ code: 'SECRET_IN_JOB_FILE', message, remedy, ...locationOf(given) });
    return null;
  }
  const reference = parseReference(text);
  if (reference === null) {
    const message = `The value of ${quote(key)} is not a valid name of a secret.`;
    // A placeholder is quoted in the message. Only a value that consists of nothing else cannot be part of a secret.
    const value = findPlaceholder(text, given.path) === text ? text : '';
    reportInvalid({ ...given, value }, { code: 'INVALID_SECRET', message, remedy: REFERENCE_REMEDY }, findings);
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
