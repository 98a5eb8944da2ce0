import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { Findings, FindingText, Located } from '#shared/job-file/parser/findings.ts';
import { quote, rejectMalformed } from '#shared/job-file/parser/record-findings.ts';
import {
  KMS_KEY_PATTERN,
  NETWORK_ATTACHMENT_PATTERN,
  NETWORK_PATTERN,
  RESOURCE_NAME_PATTERN,
  SERVICE_ACCOUNT_PATTERN,
  SUBNETWORK_PATTERN,
} from '#shared/protocol/resource-names.ts';

export type Identity = Pick<JobSpec, 'serviceAccount' | 'network' | 'subnetwork' | 'networkAttachment' | 'kmsKeyName'>;

const KMS_VERSION_PATTERN = /\/cryptoKeyVersions\/[^/]*$/;

/**
 * Checks the form of the VMs' service account, network and disk encryption key; each is null if missing or invalid.
 * Whether the deployment allows them is checked by intake.
 */
export function checkIdentity(draft: JobDraft, findings: Findings): Identity {
  const { serviceAccount, network, subnetwork, networkAttachment, kmsKeyName } = draft;
  return {
    serviceAccount: checkName(
      serviceAccount,
      { isValid: matches(SERVICE_ACCOUNT_PATTERN), describe: describeAccount },
      findings,
    ),
    network: checkName(network, { isValid: matches(NETWORK_PATTERN), describe: describeNetwork }, findings),
    subnetwork: checkName(subnetwork, { isValid: matches(SUBNETWORK_PATTERN), describe: describeSubnetwork }, findings),
    networkAttachment: checkName(networkAttachment, { isValid: isAttachment, describe: describeAttachment }, findings),
    kmsKeyName: checkName(kmsKeyName, { isValid: matches(KMS_KEY_PATTERN), describe: describeKey }, findings),
  };
}

type NameRule = {
  readonly isValid: (text: string) => boolean;
  readonly describe: (text: string) => FindingText;
};

function matches(pattern: RegExp): NameRule['isValid'] {
  return (text) => pattern.test(text);
}

/** Vertex AI's field has the full name in some versions, and the name within region and project in others. */
function isAttachment(text: string): boolean {
  return NETWORK_ATTACHMENT_PATTERN.test(text) || RESOURCE_NAME_PATTERN.test(text);
}

/** In proto3 an empty string is the same as no value. */
function checkName(
  given: Located<string> | undefined,
  { isValid, describe }: NameRule,
  findings: Findings,
): string | null {
  if (given === undefined || given.value === '') {
    return null;
  }
  if (isValid(given.value)) {
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
  const name = RESOURCE_NAME_PATTERN.test(text) ? text : 'default';
  return {
    code: 'INVALID_NETWORK',
    message: `${quote(text)} is not a full network name.`,
    remedy: `Write projects/my-project/global/networks/${name}, with the project ID or number.`,
  };
}

function describeSubnetwork(text: string): FindingText {
  const name = RESOURCE_NAME_PATTERN.test(text) ? text : 'default';
  return {
    code: 'INVALID_SUBNETWORK',
    message: `${quote(text)} is not a full subnetwork name.`,
    remedy: `Write projects/my-project/regions/us-central1/subnetworks/${name}.`,
  };
}

function describeAttachment(text: string): FindingText {
  return {
    code: 'INVALID_NETWORK_ATTACHMENT',
    message: `${quote(text)} is not the name of a network attachment.`,
    remedy: 'Write projects/my-project/regions/us-central1/networkAttachments/my-attachment.',
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
