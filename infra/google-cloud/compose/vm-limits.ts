import type { Settings } from '#functions/settings.ts';
import type { VmLimits } from '#shared/domain/vm-limits.ts';

/** The limits of a deployment, with the Terraform variables that raise them. */
export function vmLimitsOf(settings: Settings<'VMS_MAX' | 'USD_PER_HOUR_MAX'>): VmLimits {
  const { VMS_MAX: vms, USD_PER_HOUR_MAX: usd } = settings;
  const vmReason = `this deployment runs at most ${vms} VMs at a time`;
  const usdReason = `the VMs of this deployment may cost at most ${usd} US dollars an hour at list price`;
  const usdRemedy = 'have usd_per_hour_max raised or set to null (Terraform)';
  return {
    VMS_MAX: { max: vms, reason: vmReason, remedy: 'have vms_max raised (Terraform)' },
    USD_PER_HOUR_MAX: usd === undefined ? undefined : { max: usd, reason: usdReason, remedy: usdRemedy },
  };
}
