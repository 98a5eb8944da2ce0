import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { Findings } from '#shared/job-file/parser/findings.ts';
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

type NameRule = {
  readonly pattern: RegExp;
  readonly code: string;
  /** The kind of name, which the message says that the value is not. */
  readonly what: string;
  readonly remedy: (text: string) => string;
};

const RULES = {
  serviceAccount: {
    pattern: SERVICE_ACCOUNT_PATTERN,
    code: 'INVALID_SERVICE_ACCOUNT',
    what: 'the email address of a service account',
    remedy: () => 'Write an address such as trainer@my-project.iam.gserviceaccount.com.',
  },
  network: {
    pattern: NETWORK_PATTERN,
    code: 'INVALID_NETWORK',
    what: 'a full network name',
    remedy: (text) => `Write projects/my-project/global/networks/${shortName(text)}, with the project ID or number.`,
  },
  subnetwork: {
    pattern: SUBNETWORK_PATTERN,
    code: 'INVALID_SUBNETWORK',
    what: 'a full subnetwork name',
    remedy: (text) => `Write projects/my-project/regions/us-central1/subnetworks/${shortName(text)}.`,
  },
  networkAttachment: {
    // Vertex AI's field has the full name in some versions, and the name within region and project in others.
    pattern: new RegExp(`${NETWORK_ATTACHMENT_PATTERN.source}|${RESOURCE_NAME_PATTERN.source}`),
    code: 'INVALID_NETWORK_ATTACHMENT',
    what: 'the name of a network attachment',
    remedy: () => 'Write projects/my-project/regions/us-central1/networkAttachments/my-attachment.',
  },
  kmsKeyName: {
    pattern: KMS_KEY_PATTERN,
    code: 'INVALID_KMS_KEY',
    what: 'a full Cloud KMS key name',
    remedy: (text) =>
      KMS_VERSION_PATTERN.test(text)
        ? 'Remove the version: Cloud KMS uses the primary version of the key.'
        : 'Write projects/my-project/locations/us-central1/keyRings/my-ring/cryptoKeys/my-key.',
  },
} as const satisfies Readonly<Record<keyof Identity, NameRule>>;

/** The name in an example: the given one if it can be a part of a full name. */
function shortName(text: string): string {
  return RESOURCE_NAME_PATTERN.test(text) ? text : 'default';
}

/**
 * Checks the form of the VMs' service account, network and disk encryption key; each is null if missing or invalid.
 * Whether the deployment allows them is checked by intake.
 */
export function checkIdentity(draft: JobDraft, findings: Findings): Identity {
  return {
    serviceAccount: checkName(draft, 'serviceAccount', findings),
    network: checkName(draft, 'network', findings),
    subnetwork: checkName(draft, 'subnetwork', findings),
    networkAttachment: checkName(draft, 'networkAttachment', findings),
    kmsKeyName: checkName(draft, 'kmsKeyName', findings),
  };
}

/** In proto3 an empty string is the same as no value. */
function checkName(draft: JobDraft, name: keyof Identity, findings: Findings): string | null {
  const given = draft[name];
  const { pattern, code, what, remedy }: NameRule = RULES[name];
  if (given === undefined || given.value === '') {
    return null;
  }
  const { value } = given;
  if (pattern.test(value)) {
    return value;
  }
  const message = `${quote(value)} is not ${what}.`;
  rejectMalformed(given, { code, message, remedy: remedy(value), lowercasePart: value }, findings);
  return null;
}
