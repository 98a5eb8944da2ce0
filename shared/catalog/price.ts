import { familyOf, findAccelerator, findMachineType, type Machine, readCatalog } from '#shared/catalog/catalog.ts';
import { type ProvisioningModel, provisioningModelOf, type ReplicaGroup } from '#shared/domain/job-spec.ts';

/** A list price, without boot disks, IP addresses and egress. */
export type Price = {
  /** Null if the price of one of the machines is unknown. */
  readonly perHourUsd: number | null;
  /** The date of the prices, `2026-11-20`. */
  readonly asOf: string;
  /** The region of the prices, which may differ from the job's. */
  readonly region: string;
};

export type CountedMachine = Machine & Pick<ReplicaGroup, 'count'> & Partial<Pick<ReplicaGroup, 'provisioningModel'>>;

/**
 * Compute Engine's price of machines per hour, in a job with this provisioning model. Flex-start has its own prices,
 * lower than on demand except for G2 (Compute Engine docs, "About Flex-start VMs").
 */
export function priceOf(machines: readonly CountedMachine[], provisioningModel: ProvisioningModel): Price {
  return sumOf(machines, (machine) => machinePerHourUsd(machine, provisioningModelOf(machine, provisioningModel)));
}

/** Vertex AI's price of custom training on demand: Compute Engine's price with a premium. */
export function vertexPriceOf(machines: readonly CountedMachine[]): Price {
  return sumOf(machines, (machine) => {
    const perHourUsd = machinePerHourUsd(machine, 'STANDARD');
    return perHourUsd === null ? null : perHourUsd * familyOf(machine.machineType).vertexPremium;
  });
}

function sumOf(machines: readonly CountedMachine[], perHourUsdOf: (machine: CountedMachine) => number | null): Price {
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

/** List prices have at most nine decimals; removes floating-point errors. */
function roundToMicrodollars(usd: number): number {
  return Math.round(usd * 1e6) / 1e6;
}
