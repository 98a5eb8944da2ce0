import { locationOf } from '#shared/job-file/parser/findings.ts';
import type { Check } from '#shared/use-cases/intake/checks/check.ts';
import { usageOfPlacement } from '#shared/use-cases/limits/vm-usage.ts';

/**
 * Limits the parallel trials of a study to those that can have VMs at the same time. More would only wait for each
 * other, and their values would be chosen with fewer results.
 */
export const checkParallelTrials: Check = ({ draft, spec }, { intake }) => {
  const { study } = spec;
  const { vms, microUsdPerHour } = usageOfPlacement(spec);
  const { VMS_MAX: vmsMax, USD_PER_HOUR_MAX: usdMax } = intake.vmLimits;
  const [narrowest] = [
    vmsMax && { ...vmsMax, most: vmsMax.max / vms },
    usdMax && { ...usdMax, most: (usdMax.max * 1e6) / microUsdPerHour },
  ]
    .filter((limit) => limit !== undefined)
    .sort((a, b) => a.most - b.most);
  const most = Math.max(1, Math.floor(narrowest?.most ?? Infinity));
  if (study === null || narrowest === undefined || study.parallelTrialsMax <= most) {
    return {};
  }
  const message = `${most} of the ${study.parallelTrialsMax} parallel trials run at a time: ${narrowest.reason}.`;
  const remedy = `To run more, ${narrowest.remedy}.`;
  const wanted = draft.study?.parallelTrials;
  return {
    warnings: [{ code: 'PARALLEL_TRIALS_LIMITED', message, remedy, ...(wanted && locationOf(wanted)) }],
    pins: { spec: { ...spec, study: { ...study, parallelTrialsMax: most } } },
  };
};
