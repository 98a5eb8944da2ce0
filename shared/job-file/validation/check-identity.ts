import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { Findings, FindingText, Located } from '#shared/job-file/parser/findings.ts';
import { quote, rejectMalformed } from '#shared/job-file/parser/record-findings.ts';

export type Identity = Pick<JobSpec, 'serviceAccount' | 'network' | 'kmsKeyName'>;

/**
 * A project id (`my-project`, in old organizations `example.com:my-project`) or number (Resource Manager, "Projects").
 */
const PROJECT = '(?:[a-z0-9.-]{1,100}:)?[a-z0-9][a-z0-9-]{0,61}';

/** User-managed, default and Google-managed service accounts (IAM, "Types of service accounts"). */
const SERVICE_ACCOUNT_PATTERN = /^[a-z0-9][a-z0-9._-]{0,99}@([a-z0-9-]+\.){1,8}gserviceaccount\.com$/;

/** TrainingInput.network and CustomJobSpec.network; Compute Engine resource names follow RFC 1035. */
const NETWORK_PATTERN = new RegExp(`^projects/${PROJECT}/global/networks/[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`);
const NETWORK_NAME_PATTERN = /^[a-z][a-z0-9-]{0,62}$/;

/** Cloud KMS, "Object hierarchy". */
const KMS_KEY_PATTERN = new RegExp(
  `^projects/${PROJECT}/locations/[a-z0-9-]{1,63}/keyRings/[\\w-]{1,63}/cryptoKeys/[\\w-]{1,63}$`,
);
const KMS_VERSION_PATTERN = /\/cryptoKeyVersions\/[^/]*$/;

/**
 * Checks the form of the VMs' service account, network and disk encryption key; each is null if missing or invalid.
 * Whether they exist is not checked here.
 */
export function checkIdentity({ serviceAccount, network, kmsKeyName }: JobDraft, findings: Findings): Identity {
  return {
    serviceAccount: checkName(
      serviceAccount,
      { pattern: SERVICE_ACCOUNT_PATTERN, describe: describeAccount },
      findings,
    ),
    network: checkName(network, { pattern: NETWORK_PATTERN, describe: describeNetwork }, findings),
    kmsKeyName: checkName(kmsKeyName, { pattern: KMS_KEY_PATTERN, describe: describeKey }, findings),
  };
}

type NameRule = { readonly pattern: RegExp; readonly describe: (text: string) => FindingText };

/** In proto3 an empty string is the same as no value. */
function checkName(
  given: Located<string> | undefined,
  { pattern, describe }: NameRule,
  findings: Findings,
): string | null {
  if (given === undefined || given.value === '') {
    return null;
  }
  if (pattern.test(given.value)) {
    return given.value;
  }
  rejectMalformed(given, { ...describe(given.value), lowercasePart: given.value }, findings);
  return null;
}

function describeAccount(text: string): FindingText {
  return {
    code: 'INVALID_SERVICE_ACCOUNT',
    message: `${quote(text)} is not the email address of a service account.`,
    remedy: 'Write an address such as trainer@my-project.iam.gserviceaccount.com.',
  };
}

function describeNetwork(text: string): FindingText {
  const name = NETWORK_NAME_PATTERN.test(text) ? text : 'default';
  return {
    code: 'INVALID_NETWORK',
    message: `${quote(text)} is not a full network name.`,
    remedy: `Write projects/my-project/global/networks/${name}, with the project ID or number.`,
  };
}

function describeKey(text: string): FindingText {
  return {
    code: 'INVALID_KMS_KEY',
    message: `${quote(text)} is not a full Cloud KMS key name.`,
    remedy: KMS_VERSION_PATTERN.test(text)
      ? 'Remove the version: Cloud KMS uses the primary version of the key.'
      : 'Write projects/my-project/locations/us-central1/keyRings/my-ring/cryptoKeys/my-key.',
  };
}
