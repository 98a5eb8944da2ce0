import { familyOf, findAccelerator, findMachineType, type Machine, readCatalog } from '#shared/catalog/catalog.ts';
import type { ProvisioningModel } from '#shared/domain/job-spec.ts';

/** A list price, without boot disks, addresses and egress; null where one of the machines' prices is not known. */
export type Price = {
  readonly perHourUsd: number | null;
  /** The day for which the prices are given, as `2026-11-20`. */
  readonly asOf: string;
  /** The region whose prices these are, whatever region the job runs in. */
  readonly region: string;
};

export type CountedMachine = Machine & { readonly count: number };

/**
 * What Compute Engine asks for the machines, an hour. Flex-start has prices of its own, lower than those on demand but
 * for G2 (Compute Engine docs, "About Flex-start VMs"): null where they are not known.
 */
export function priceOf(machines: readonly CountedMachine[], provisioningModel: ProvisioningModel): Price {
  return sumOf(machines, (machine) => machinePerHourUsd(machine, provisioningModel));
}

/** What Vertex AI custom training asks for the same machines on demand: Compute Engine's price and its premium. */
export function vertexPriceOf(machines: readonly CountedMachine[]): Price {
  return sumOf(machines, (machine) => {
    const perHourUsd = machinePerHourUsd(machine, 'STANDARD');
    return perHourUsd === null ? null : perHourUsd * familyOf(machine.machineType).vertexPremium;
  });
}

function sumOf(machines: readonly CountedMachine[], perHourUsdOf: (machine: Machine) => number | null): Price {
  const { asOf, priceRegion } = readCatalog();
  const perHourUsd = machines.reduce<number | null>((sum, machine) => {
    const own = perHourUsdOf(machine);
    return sum === null || own === null ? null : sum + machine.count * own;
  }, 0);
  return { perHourUsd: perHourUsd === null ? null : roundToMicrodollars(perHourUsd), asOf, region: priceRegion };
}

function machinePerHourUsd({ machineType, accelerator }: Machine, provisioningModel: ProvisioningModel): number | null {
  const type = findMachineType(machineType);
  if (provisioningModel === 'FLEX_START') {
    return accelerator === null ? (type?.flexStartPerHourUsd ?? null) : null;
  }
  const field = provisioningModel === 'SPOT' ? 'spotPerHourUsd' : 'onDemandPerHourUsd';
  const own = type?.[field] ?? null;
  if (accelerator === null || own === null) {
    return own;
  }
  const each = findAccelerator(accelerator.type)?.[field] ?? null;
  return each === null ? null : own + accelerator.count * each;
}

/** Sums of list prices have at most nine decimals; what follows is noise of binary fractions. */
function roundToMicrodollars(usd: number): number {
  return Math.round(usd * 1e6) / 1e6;
}
