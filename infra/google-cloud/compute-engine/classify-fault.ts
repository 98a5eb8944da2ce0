import type { ComputeFault } from '#infra/google-cloud/compute-engine/compute-fault.ts';
import { type CauseCode, causeOf } from '#shared/domain/cause.ts';
import type { VmCreateFailure } from '#shared/domain/event.ts';

/** What was asked for, so that the sentence and the command name it. */
export type Asked = {
  readonly projectId: string;
  readonly zone: string;
  readonly machineType: string;
  /** The machine image or image that the VM was to boot from. */
  readonly source: string;
  readonly serviceAccount: string;
};

type Rule = {
  readonly code: CauseCode;
  readonly matches: (fault: ComputeFault) => boolean;
  /** What happened, and the command that mends it. */
  readonly say: (asked: Asked, fault: ComputeFault) => string;
};

const has = (pattern: RegExp) => (fault: ComputeFault) =>
  fault.codes.some((code) => pattern.test(code)) || pattern.test(fault.message);

const hasStatus =
  (...statuses: readonly number[]) =>
  (fault: ComputeFault) =>
    statuses.includes(fault.httpStatus);

/** Messages name the user's own things: no pattern may fit a name. Read from above; the first that matches says what the fault means. Codes: Compute Engine docs, "Resource availability errors", "API error responses". */
const RULES: readonly Rule[] = [
  {
    code: 'STOCKOUT',
    matches: has(/RESOURCE_POOL_EXHAUSTED|GPU_STOCKOUT|insufficientCapacity|^stockout$|does not have enough resources/),
    say: ({ zone, machineType }) => `${zone} has no ${machineType} to give at the moment.`,
  },
  {
    code: 'RATE_LIMITED',
    matches: (fault) =>
      has(
        /rate[ _]?limit[ _]?exceeded|RESOURCE_OPERATION_RATE_EXCEEDED|Operation rate exceeded|Quota exceeded for quota metric/i,
      )(fault) || hasStatus(429)(fault),
    say: ({ source }) => `Compute Engine takes no more requests for ${source} at this pace.`,
  },
  {
    code: 'QUOTA_EXCEEDED',
    matches: has(/QUOTA_EXCEEDED|quotaExceeded|Quota '\w+' exceeded/),
    say: ({ projectId }, { message }) =>
      `${sentence(message)} Ask for more at https://console.cloud.google.com/iam-admin/quotas?project=${projectId}.`,
  },
  {
    // Seen when a Spot VM is taken away while it is being made.
    code: 'STOCKOUT',
    matches: has(/^UNSUPPORTED_OPERATION$/),
    say: ({ zone }) => `${zone} took the VM back while it was being made.`,
  },
  {
    code: 'CONFIGURATION_REFUSED',
    matches: has(/(requires|enable) billing|billing (account|is|has|must)\b/i),
    say: ({ projectId }, { message }) =>
      `${sentence(message)} Link a billing account: gcloud billing projects link ${projectId} --billing-account=ACCOUNT_ID`,
  },
  {
    code: 'CONFIGURATION_REFUSED',
    matches: has(/accessNotConfigured|SERVICE_DISABLED|has not been used in project|is disabled/i),
    say: ({ projectId }, { message }) =>
      `${sentence(message)} Switch the API on: gcloud services enable compute.googleapis.com --project=${projectId}`,
  },
  {
    code: 'CONFIGURATION_REFUSED',
    matches: (fault) => isMissing(fault) && /machineImages|\/images\//i.test(fault.message),
    say: ({ source }) =>
      `The image ${source} does not exist, or cannot be read. Make it as infra/machine-image/README.md says, or name another in runtime_images and run terraform apply.`,
  },
  {
    // The catalog was wrong about a zone: others may have it.
    code: 'STOCKOUT',
    matches: (fault) => isMissing(fault) && /acceleratorTypes|machineTypes|diskTypes/i.test(fault.message),
    say: ({ zone, machineType }) => `${zone} does not offer ${machineType} as it was asked for.`,
  },
  {
    code: 'CONFIGURATION_REFUSED',
    matches: (fault) => hasStatus(401, 403)(fault) || has(/PERMISSIONS_ERROR|^forbidden$/)(fault),
    say: ({ projectId, serviceAccount }, { message }) =>
      `${sentence(message)} Run terraform apply once more; what provision may do in ${projectId} and as ${serviceAccount} is in terraform/modules/functions.`,
  },
  {
    // 409 is a name that another job's VM bears: whoever has the job's own does not come here.
    code: 'CONFIGURATION_REFUSED',
    matches: (fault) =>
      hasStatus(400, 404, 409, 412)(fault) ||
      has(/^INVALID_|RESOURCE_NOT_FOUND|RESOURCE_ALREADY_EXISTS|^invalid/)(fault),
    say: (_, { message }) => sentence(message),
  },
];

/** What a fault means for the job; null where it is a passing one and the same request should be made again. */
export function refusalOfFault(fault: ComputeFault, asked: Asked): VmCreateFailure | null {
  const rule = isPassing(fault) ? undefined : RULES.find(({ matches }) => matches(fault));
  if (rule === undefined) {
    return null;
  }
  const { zonesAvailable, quota } = fault;
  const cause = causeOf(rule.code, rule.say(asked, fault), fault.evidence);
  return { cause, zonesAvailable, ...(rule.code === 'QUOTA_EXCEEDED' && quota !== null && { quota }) };
}

/** Something else is just being done to what the VM needs: Compute Engine says so with HTTP 400. */
const isPassing = has(/^RESOURCE_NOT_READY$|^resourceNotReady$|^RESOURCE_IN_USE|' is not ready\b/);

function isMissing(fault: ComputeFault): boolean {
  return hasStatus(404)(fault) || has(/RESOURCE_NOT_FOUND|notFound|was not found|does not exist/i)(fault);
}

function sentence(text: string): string {
  const trimmed = text.trim();
  return /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}
