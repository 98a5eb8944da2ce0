import { priceOf } from '#shared/catalog/price.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Located, locationOf } from '#shared/job-file/parser/findings.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { type IntakeSettings, KEEPING_DEFAULT } from '#shared/use-cases/intake/intake-settings.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

type Checked = { readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] };

/** Whether the deployment keeps VMs for as long as the job wants, at their price, and has shells if it wants one. */
export function checkShell(
  { keepOnFailure, webAccess }: JobDraft,
  spec: JobSpec,
  settings: Pick<IntakeSettings, 'keeping' | 'hasShellAccess'>,
): Checked {
  const isKept = keepOnFailure !== undefined && spec.limits.keepOnFailureMs > 0;
  const kept = isKept ? checkKept(keepOnFailure, spec, settings) : NOTHING;
  const warnings = webAccess?.value === true && settings.hasShellAccess !== true ? [shellIsOff(webAccess)] : [];
  return { problems: kept.problems, warnings: [...kept.warnings, ...warnings] };
}

const NOTHING: Checked = { problems: [], warnings: [] };

function checkKept(
  wanted: Located<string>,
  spec: JobSpec,
  { keeping = KEEPING_DEFAULT }: Pick<IntakeSettings, 'keeping'>,
): Checked {
  const { keepOnFailureMs } = spec.limits;
  const location = locationOf(wanted);
  if (keepOnFailureMs > keeping.msMax) {
    const isOff = keeping.msMax === 0;
    const limit = `${keeping.msMax / MINUTE_MS} min`;
    return {
      ...NOTHING,
      problems: [
        {
          code: 'KEPT_TOO_LONG',
          message: isOff
            ? 'This deployment keeps no VMs after a failure.'
            : `The job keeps its VM for ${keepOnFailureMs / MINUTE_MS} min after a failure; this deployment allows ${limit}.`,
          remedy: `${isOff ? 'Remove it' : `Write ${limit.replace(' min', 'm')} or less`}, or have the limit raised: keep_on_failure_max in Terraform, keepOnFailureSecondsMax in the embedded cloud.`,
          ...location,
        },
      ],
    };
  }
  return checkCost(spec, keeping.costUsdMax, location);
}

/** One VM is kept: of a cluster, at most the dearest. */
function checkCost(spec: JobSpec, costUsdMax: number, location: Partial<Problem>): Checked {
  const { keepOnFailureMs } = spec.limits;
  const prices = spec.replicaGroups.map(
    (group) => priceOf([{ ...group, count: 1 }], spec.provisioningModel).perHourUsd,
  );
  if (prices.some((price) => price === null)) {
    const message = `The price of a machine of this job is not known, so that the limit of ${usd(costUsdMax)} for a VM that is kept cannot be checked.`;
    const remedy = 'No action needed: it is kept no longer than keepOnFailure says.';
    return { ...NOTHING, warnings: [{ code: 'KEPT_PRICE_UNKNOWN', message, remedy, ...location }] };
  }
  const perHourUsd = Math.max(...prices.map((price) => price ?? 0));
  const costUsd = (perHourUsd * keepOnFailureMs) / HOUR_MS;
  if (costUsd <= costUsdMax) {
    return NOTHING;
  }
  const minutes = Math.floor((costUsdMax / perHourUsd) * 60);
  const message = `Keeping a VM of this job for ${keepOnFailureMs / MINUTE_MS} min after a failure would cost ${usd(costUsd)}; this deployment allows ${usd(costUsdMax)}.`;
  const less = minutes < 1 ? 'Remove it' : `Write ${minutes}m or less`;
  const remedy = `${less}, choose a cheaper machine, or have the limit raised: keep_on_failure_cost_max_usd in Terraform, keepOnFailureCostUsdMax in the embedded cloud.`;
  return { ...NOTHING, problems: [{ code: 'KEPT_TOO_DEAR', message, remedy, ...location }] };
}

function usd(amount: number): string {
  return `${amount.toFixed(2)} USD`;
}

function shellIsOff(webAccess: Located<boolean>): Problem {
  return {
    code: 'SHELL_ACCESS_OFF',
    message: 'The job wants a shell, but shell access is off in this deployment. The job runs without it.',
    remedy: 'Have it turned on in Terraform: shell_access = { members = ["user:YOU@example.com"] } (docs/shell.md).',
    ...locationOf(webAccess),
  };
}
