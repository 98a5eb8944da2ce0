import type { ComputeFault } from '#infra/google-cloud/compute-engine/compute-fault.ts';
import { type CauseCode, causeOf } from '#shared/domain/cause.ts';
import type { VmCreateFailure } from '#shared/domain/event.ts';
import { describeDenial, findPerimeterDenial } from '#shared/domain/perimeter-denial.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';

/** Properties of the failed request, for the message and the command in it. */
export type FaultContext = {
  readonly projectId: string;
  readonly zone: string;
  readonly machineType: string;
  /** The machine image or image from which the VM was to boot. */
  readonly source: string;
  /** That of the deployment. */
  readonly serviceAccount: string;
  /** The resources that the job names instead of the deployment's own. */
  readonly rights: Pick<VmRequest, 'serviceAccount' | 'subnetwork' | 'networkAttachment' | 'kmsKeyName'>;
};

type Rule = {
  readonly code: CauseCode;
  readonly matches: (fault: ComputeFault) => boolean;
  /** The sentence that says what happened, and the command that fixes it. */
  readonly message: (context: FaultContext, fault: ComputeFault) => string;
};

const has = (pattern: RegExp) => (fault: ComputeFault) =>
  fault.codes.some((code) => pattern.test(code)) || pattern.test(fault.message);

const hasStatus =
  (...statuses: readonly number[]) =>
  (fault: ComputeFault) =>
    statuses.includes(fault.httpStatus);

/** Refusals of what a job or the deployment names, each with the line of Terraform that grants it. */
const RIGHTS_RULES: readonly Rule[] = [
  {
    code: 'CONFIGURATION_REFUSED',
    // No name has a space or a slash.
    matches: has(/constraints\/iam\.disableCrossProjectServiceAccountUsage|cross[- ]project .{0,40}service account/i),
    message: ({ serviceAccount, rights }, { message }) =>
      `${sentence(message)} The project ${projectOfAccount(rights.serviceAccount ?? serviceAccount)} must not enforce iam.disableCrossProjectServiceAccountUsage, and Terraform grants the rest with job_accounts (docs/rights.md).`,
  },
  {
    code: 'CONFIGURATION_REFUSED',
    matches: has(/cross-project references? for/i),
    message: ({ projectId, rights: { subnetwork } }, { message }) =>
      `${sentence(message)} The network is that of another project, which must share it as a Shared VPC host: gcloud compute shared-vpc associated-projects add ${projectId} --host-project=${subnetwork?.split('/')[1] ?? 'HOST_PROJECT'}`,
  },
  {
    code: 'CONFIGURATION_REFUSED',
    matches: has(/^SERVICE_ACCOUNT_ACCESS_DENIED$|does not have access to service account|iam\.serviceAccounts\.actAs/),
    message: ({ serviceAccount, rights }, { message }) =>
      rights.serviceAccount === null
        ? `${sentence(message)} The function provision may not attach ${serviceAccount}: run terraform apply.`
        : `${sentence(message)} The function provision may not attach it, or it does not exist. Terraform grants it with job_accounts = ["${rights.serviceAccount}"]: run terraform apply.`,
  },
  {
    code: 'CONFIGURATION_REFUSED',
    matches: (fault) => has(/^kmsPermissionDenied$|Cloud KMS error|cloudkms\.cryptoKeyVersions\./)(fault),
    message: ({ rights: { kmsKeyName } }, { message }) =>
      `${sentence(message)} ${
        /not enabled|DISABLED|DESTROY/.test(message)
          ? 'Enable the primary version of the key.'
          : `The Compute Engine Service Agent may not use the key. Terraform grants it with ${kmsKeyName === null ? 'encryption = { kms_key_name = … }' : `job_keys = ["${kmsKeyName}"]`}: run terraform apply.`
      }`,
  },
  {
    code: 'CONFIGURATION_REFUSED',
    matches: (fault) => has(/networkAttachments?\b|pscInterfaceCreate/)(fault),
    message: ({ projectId, rights: { networkAttachment } }, { message }) =>
      `${sentence(message)} The network attachment must exist and accept the project ${projectId}. Terraform lets the function provision use it with job_networks = { … = { network_attachments = ["${networkAttachment}"] } }: run terraform apply.`,
  },
  {
    // An image of this project is covered by the custom role of provision.
    code: 'CONFIGURATION_REFUSED',
    matches: has(/compute\.(images|machineImages)\.useReadOnly/),
    message: ({ projectId, source }, { message }) => {
      const project = source.split('/')[1] ?? projectId;
      const isMachineImage = message.includes('compute.machineImages.');
      return project === projectId
        ? `${sentence(message)} Run terraform apply: the function provision has a role for it.`
        : `${sentence(message)} Grant ${isMachineImage ? 'a role with compute.machineImages.useReadOnly' : 'roles/compute.imageUser'} in the project ${project} to the account of provision (terraform output service_accounts).`;
    },
  },
  {
    code: 'CONFIGURATION_REFUSED',
    matches: has(/compute\.subnetworks\.use\b/),
    message: ({ rights: { subnetwork } }, { message }) =>
      `${sentence(message)} The function provision requires roles/compute.networkUser on the subnetwork. ${
        subnetwork === null
          ? 'Grant it (terraform/README.md, "With existing networks").'
          : `Terraform grants it with job_networks = { … = { subnetworks = { ${subnetwork.split('/')[3]} = "${subnetwork}" } } }: run terraform apply.`
      }`,
  },
];

/**
 * The first rule that matches decides. Messages contain names that users choose (of jobs, hence of VMs), so no pattern
 * may match a possible name. Codes: Compute Engine docs, "Resource availability errors", "API error responses".
 */
const RULES: readonly Rule[] = [
  {
    // Before all others: a perimeter denies requests whatever they ask for.
    code: 'PERIMETER_DENIED',
    matches: (fault) => findDenial(fault) !== null,
    message: ({ zone }, fault) =>
      `${describeDenial(`the creation of the VM in ${zone}`, findDenial(fault) ?? { uniqueId: null })} ${sentence(fault.message)}`,
  },
  {
    code: 'STOCKOUT',
    matches: has(/RESOURCE_POOL_EXHAUSTED|GPU_STOCKOUT|insufficientCapacity|^stockout$|does not have enough resources/),
    message: ({ zone, machineType }) => `${zone} currently has no capacity for ${machineType}.`,
  },
  {
    code: 'RATE_LIMITED',
    matches: (fault) =>
      has(
        /rate[ _]?limit[ _]?exceeded|RESOURCE_OPERATION_RATE_EXCEEDED|Operation rate exceeded|Quota exceeded for quota metric/i,
      )(fault) || hasStatus(429)(fault),
    message: ({ source }) => `Compute Engine's rate limit for creating VMs from ${source} is exceeded.`,
  },
  {
    code: 'QUOTA_EXCEEDED',
    matches: has(/QUOTA_EXCEEDED|quotaExceeded|Quota '\w+' exceeded/),
    message: ({ projectId }, { message }) =>
      `${sentence(message)} Request an increase at https://console.cloud.google.com/iam-admin/quotas?project=${projectId}.`,
  },
  {
    // Observed when a Spot VM is preempted while it is being created.
    code: 'STOCKOUT',
    matches: has(/^UNSUPPORTED_OPERATION$/),
    message: ({ zone }) => `The VM was preempted in ${zone} while it was being created.`,
  },
  {
    code: 'CONFIGURATION_REFUSED',
    matches: has(/(requires|enable) billing|billing (account|is|has|must)\b/i),
    message: ({ projectId }, { message }) =>
      `${sentence(message)} Link a billing account: gcloud billing projects link ${projectId} --billing-account=ACCOUNT_ID`,
  },
  {
    code: 'CONFIGURATION_REFUSED',
    matches: has(/accessNotConfigured|SERVICE_DISABLED|has not been used in project|is disabled/i),
    message: ({ projectId }, { message }) =>
      `${sentence(message)} Enable the API: gcloud services enable compute.googleapis.com --project=${projectId}`,
  },
  ...RIGHTS_RULES,
  {
    code: 'CONFIGURATION_REFUSED',
    matches: (fault) => isNotFound(fault) && /machineImages|\/images\//i.test(fault.message),
    message: ({ source }) =>
      `The image ${source} does not exist or cannot be read. Create it as described in infra/machine-image/README.md, or set another one in runtime_images and run terraform apply.`,
  },
  {
    // The catalog is wrong about this zone; other zones may offer it.
    code: 'STOCKOUT',
    matches: (fault) => isNotFound(fault) && /acceleratorTypes|machineTypes|diskTypes/i.test(fault.message),
    message: ({ zone, machineType }) => `${zone} does not offer ${machineType} in the requested configuration.`,
  },
  {
    code: 'CONFIGURATION_REFUSED',
    matches: (fault) => hasStatus(401, 403)(fault) || has(/PERMISSIONS_ERROR|^forbidden$/)(fault),
    message: ({ projectId, serviceAccount }, { message }) =>
      `${sentence(message)} Run terraform apply: the roles of the function provision on ${projectId} and on ${serviceAccount} are defined in terraform/modules/functions.`,
  },
  {
    // 409: the name belongs to a VM of another job. One of the same job is found before faults are classified.
    code: 'CONFIGURATION_REFUSED',
    matches: (fault) =>
      hasStatus(400, 404, 409, 412)(fault) ||
      has(/^INVALID_|RESOURCE_NOT_FOUND|RESOURCE_ALREADY_EXISTS|^invalid/)(fault),
    message: (_, { message }) => sentence(message),
  },
];

/**
 * The failure that a fault means for the job; null if the fault is transient and the same request should be retried.
 */
export function classifyFault(fault: ComputeFault, context: FaultContext): VmCreateFailure | null {
  const rule = isTransient(fault) ? undefined : RULES.find(({ matches }) => matches(fault));
  if (rule === undefined) {
    return null;
  }
  const { zonesAvailable, quota } = fault;
  const cause = causeOf(rule.code, rule.message(context, fault), fault.evidence);
  return { cause, zonesAvailable, ...(rule.code === 'QUOTA_EXCEEDED' && quota !== null && { quota }) };
}

/** Another operation on a resource that the VM needs is in progress, which Compute Engine reports with HTTP 400. */
const isTransient = has(/^RESOURCE_NOT_READY$|^resourceNotReady$|^RESOURCE_IN_USE|' is not ready\b/);

function findDenial({ message, codes, evidence }: ComputeFault) {
  return findPerimeterDenial([message, ...codes, ...evidence].join('\n'));
}

function isNotFound(fault: ComputeFault): boolean {
  return hasStatus(404)(fault) || has(/RESOURCE_NOT_FOUND|notFound|was not found|does not exist/i)(fault);
}

/** In messages: `lab` of `trainer@lab.iam.gserviceaccount.com`. */
function projectOfAccount(email: string): string {
  return (email.split('@')[1] ?? '').replace(/\.iam\.gserviceaccount\.com$/, '');
}

function sentence(text: string): string {
  const trimmed = text.trim();
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
