/** How many VMs of all jobs may exist at a time, or what they may cost an hour. */
export type VmLimit = {
  readonly max: number;
  /** The limit as a part of a sentence, with its name: `this machine runs at most 4 VMs at a time`. */
  readonly reason: string;
  /** How to raise it, as a part of a sentence. */
  readonly remedy: string;
};

const VM_LIMIT_NAMES = ['VMS_MAX', 'USD_PER_HOUR_MAX'] as const;
export type VmLimitName = (typeof VM_LIMIT_NAMES)[number];
export type VmLimits = { readonly [Name in VmLimitName]?: VmLimit | undefined };

/** VMs and their price, as they count against the limits. Integers keep a sum of additions and subtractions exact. */
export type VmUsage = {
  readonly vms: number;
  /** List price of those whose price is known. */
  readonly microUsdPerHour: number;
  readonly unpricedVms: number;
};

export const NO_VMS: VmUsage = { vms: 0, microUsdPerHour: 0, unpricedVms: 0 };

/** `usage`, with `other` added `times` times. */
export function addUsage(usage: VmUsage, other: VmUsage, times = 1): VmUsage {
  return {
    vms: usage.vms + times * other.vms,
    microUsdPerHour: usage.microUsdPerHour + times * other.microUsdPerHour,
    unpricedVms: usage.unpricedVms + times * other.unpricedVms,
  };
}

/** The limit that is exceeded; null if none is. A VM without a known price may cost anything. */
export function findExceeded(
  { vms, microUsdPerHour, unpricedVms }: VmUsage,
  limits: { readonly [Name in VmLimitName]?: Pick<VmLimit, 'max'> | undefined },
): VmLimitName | null {
  const { VMS_MAX: vmsMax, USD_PER_HOUR_MAX: usdMax } = limits;
  if (vmsMax !== undefined && vms > vmsMax.max) {
    return 'VMS_MAX';
  }
  const isTooDear = usdMax !== undefined && (unpricedVms > 0 || microUsdPerHour > usdMax.max * 1e6);
  return isTooDear ? 'USD_PER_HOUR_MAX' : null;
}

export function isVmLimitName(metric: string | undefined): metric is VmLimitName {
  return VM_LIMIT_NAMES.some((name) => name === metric);
}
