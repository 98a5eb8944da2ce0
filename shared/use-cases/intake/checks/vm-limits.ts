import { NO_VMS } from '#shared/domain/vm-limits.ts';
import type { Check } from '#shared/use-cases/intake/checks/check.ts';
import { findExceededLimit } from '#shared/use-cases/limits/vm-usage.ts';

/** A job that exceeds a limit by itself would wait indefinitely. */
export const checkVmLimits: Check = ({ spec }, { intake }) => {
  const exceeded = findExceededLimit(spec, NO_VMS, intake.vmLimits);
  if (exceeded === null) {
    return {};
  }
  const { metric, message, limit } = exceeded;
  const code = metric === 'VMS_MAX' ? 'TOO_MANY_REPLICAS' : 'PRICE_LIMIT_EXCEEDED';
  const remedy = `Request fewer replicas or another machine type, or ${limit.remedy}.`;
  return { problems: [{ code, message, remedy }] };
};
