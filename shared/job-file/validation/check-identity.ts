import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { Findings, FindingText, Located } from '#shared/job-file/parser/findings.ts';
import { quote, rejectMalformed } from '#shared/job-file/parser/record-findings.ts';

export type Identity = Pick<JobSpec, 'serviceAccount' | 'network' | 'kmsKeyName'>;

/** An id (`my-project`, in old organisations `example.com:my-project`) or a number (Resource Manager, "Projects"). */
const PROJECT = '(?:[a-z0-9.-]{1,100}:)?[a-z0-9][a-z0-9-]{0,61}';

/** IAM, "Types of service accounts": the user's own, and those that Google names after a project. */
const SERVICE_ACCOUNT_PATTERN = /^[a-z0-9][a-z0-9._-]{0,99}@([a-z0-9-]+\.){1,8}gserviceaccount\.com$/;

/** TrainingInput.network and CustomJobSpec.network; the name is that of a Compute Engine resource (RFC 1035). */
const NETWORK_PATTERN = new RegExp(`^projects/${PROJECT}/global/networks/[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`);
const NETWORK_NAME_PATTERN = /^[a-z][a-z0-9-]{0,62}$/;

/** Cloud KMS, "Object hierarchy". */
const KMS_KEY_PATTERN = new RegExp(
  `^projects/${PROJECT}/locations/[a-z0-9-]{1,63}/keyRings/[\\w-]{1,63}/cryptoKeys/[\\w-]{1,63}$`,
);
const KMS_VERSION_PATTERN = /\/cryptoKeyVersions\/[^/]*$/;

/**
 * Whom the VMs run as, in which network, and under which key their disks are: each null where nothing is said, or where
 * it is wrong, which is then among the findings. Whether they exist, the cloud says.
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

/** An empty text is nothing said, as in proto3. */
function checkName(
  written: Located<string> | undefined,
  { pattern, describe }: NameRule,
  findings: Findings,
): string | null {
  if (written === undefined || written.value === '') {
    return null;
  }
  if (pattern.test(written.value)) {
    return written.value;
  }
  rejectMalformed(written, { ...describe(written.value), lowercasePart: written.value }, findings);
  return null;
}

function describeAccount(text: string): FindingText {
  return {
    code: 'INVALID_SERVICE_ACCOUNT',
    message: `${quote(text)} is no e-mail address of a service account.`,
    remedy: 'Write one such as trainer@my-project.iam.gserviceaccount.com.',
  };
}

function describeNetwork(text: string): FindingText {
  const name = NETWORK_NAME_PATTERN.test(text) ? text : 'default';
  return {
    code: 'INVALID_NETWORK',
    message: `${quote(text)} is no full name of a network.`,
    remedy: `Write projects/my-project/global/networks/${name}, with the project's id or number.`,
  };
}

function describeKey(text: string): FindingText {
  return {
    code: 'INVALID_KMS_KEY',
    message: `${quote(text)} is no full name of a Cloud KMS key.`,
    remedy: KMS_VERSION_PATTERN.test(text)
      ? "Leave out the version: Cloud KMS takes the key's primary one."
      : 'Write projects/my-project/locations/us-central1/keyRings/my-ring/cryptoKeys/my-key.',
  };
}
