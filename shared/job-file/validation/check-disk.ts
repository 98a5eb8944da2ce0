import { findFamily, type Machine, type MachineFamily } from '#shared/catalog/catalog.ts';
import { BOOT_DISK_TYPES, type BootDiskType, type ReplicaGroup } from '#shared/domain/job-spec.ts';
import type { PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type Located, locationOf } from '#shared/job-file/parser/findings.ts';
import { addOnce, quote, rejectOnce } from '#shared/job-file/parser/record-findings.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/**
 * AI Platform's default (DiskConfig) and Vertex AI's limits, whose default is the same ("Configure compute resources").
 */
const BOOT_DISK_GIB_DEFAULT = 100;
const BOOT_DISK_GIB_MIN = 100;
const BOOT_DISK_GIB_MAX = 64_000;

/** For machine types that are not in the catalog, such as TPUs and misspelled names. */
const FAMILY_DEFAULT: Pick<MachineFamily, 'bootDisks' | 'bootsFromMachineImages'> = {
  bootDisks: ['pd-ssd', 'pd-standard', 'pd-balanced'],
  bootsFromMachineImages: true,
};

/** The boot disk of a pool's machines; invalid values are reported and replaced by the default. */
export function checkDisk(
  { bootDiskGib, bootDiskType }: PoolDraft,
  { machineType }: Machine,
  findings: Findings,
): Pick<ReplicaGroup, 'bootDiskGib' | 'bootDiskType'> {
  return {
    bootDiskGib: checkSize(bootDiskGib, findings),
    bootDiskType: checkType(bootDiskType, machineType, findings),
  };
}

function checkType(given: Located<string> | undefined, machineType: string, findings: Findings): BootDiskType {
  const { bootDisks: types, bootsFromMachineImages } = findFamily(machineType) ?? FAMILY_DEFAULT;
  const type = BOOT_DISK_TYPES.find((known) => known === given?.value);
  if (given === undefined || given.value === '') {
    return types[0];
  }
  if (type === undefined) {
    const message = `${quote(given.value)} is not a boot disk type.`;
    const remedy = `${didYouMean(given.value, BOOT_DISK_TYPES)}Write ${types.join(' or ')}, or remove it.`;
    rejectOnce(given, { code: 'UNKNOWN_DISK_TYPE', message, remedy }, findings);
    return types[0];
  }
  if (!types.includes(type)) {
    const message = `${machineType} cannot boot from ${type}.`;
    const remedy = `Write ${types.join(' or ')}, or remove it.`;
    addOnce(findings.problems, { code: 'WRONG_DISK_TYPE', message, remedy, ...locationOf(given) });
    return types[0];
  }
  if (type !== types[0] && bootsFromMachineImages) {
    const message = `${given.path} has no effect if a machine image determines the boot disk.`;
    const remedy = `Remove it; the default type is ${types[0]}.`;
    addOnce(findings.warnings, { code: 'FIELD_WITHOUT_EFFECT', message, remedy, ...locationOf(given) });
  }
  return type;
}

/** In proto3 a size of 0 is the same as no size. */
function checkSize(given: Located<number> | undefined, findings: Findings): number {
  if (given === undefined || given.value === 0) {
    return BOOT_DISK_GIB_DEFAULT;
  }
  if (given.value >= BOOT_DISK_GIB_MIN && given.value <= BOOT_DISK_GIB_MAX) {
    return given.value;
  }
  const message = `A boot disk must have ${BOOT_DISK_GIB_MIN} to ${BOOT_DISK_GIB_MAX} GiB, but has ${given.value}.`;
  const remedy = 'Write a size in this range.';
  addOnce(findings.problems, { code: 'INVALID_DISK_SIZE', message, remedy, ...locationOf(given) });
  return BOOT_DISK_GIB_DEFAULT;
}
