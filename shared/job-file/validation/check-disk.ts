import type { Machine } from '#shared/catalog/catalog.ts';
import { BOOT_DISK_TYPES, type BootDiskType, type ReplicaGroup } from '#shared/domain/job-spec.ts';
import type { PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type Located, locationOf } from '#shared/job-file/parser/findings.ts';
import { addOnce, quote, rejectOnce } from '#shared/job-file/parser/record-findings.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/**
 * AI Platform's default (DiskConfig), and the limits of Vertex AI, which took it over ("Configure compute resources").
 */
const BOOT_DISK_GIB_DEFAULT = 100;
const BOOT_DISK_GIB_MIN = 100;
const BOOT_DISK_GIB_MAX = 64_000;

const HYPERDISK = 'hyperdisk-balanced';

/**
 * Series that boot from Hyperdisk alone, and those that boot from either; all others have Persistent Disk alone
 * (Compute Engine, "About Google Cloud Hyperdisk", machine series support; Vertex AI, DiskSpec.bootDiskType, for A3
 * Ultra and A4).
 */
const HYPERDISK_ONLY = /^(a3-ultragpu|a4|a4x|g4|n4)-/;
const HYPERDISK_TOO = /^(a3|c3|c3d|m1)-/;

/** The boot disk of a pool's machines; what is wrong with it is among the findings, and the default in its place. */
export function checkDisk(
  { bootDiskGib, bootDiskType }: PoolDraft,
  { machineType }: Machine,
  findings: Findings,
): Pick<ReplicaGroup, 'bootDiskGib' | 'bootDiskType'> {
  const typesOfMachine = diskTypesOf(machineType);
  return {
    bootDiskGib: checkSize(bootDiskGib, findings),
    bootDiskType: checkType(bootDiskType, { machineType, types: typesOfMachine }, findings),
  };
}

/** The first one is the default. */
function diskTypesOf(machineType: string): readonly [BootDiskType, ...BootDiskType[]] {
  if (HYPERDISK_ONLY.test(machineType)) {
    return [HYPERDISK];
  }
  const persistent = ['pd-ssd', 'pd-standard', 'pd-balanced'] as const;
  return HYPERDISK_TOO.test(machineType) ? [...persistent, HYPERDISK] : persistent;
}

type DiskChoice = { readonly machineType: string; readonly types: readonly [BootDiskType, ...BootDiskType[]] };

function checkType(
  written: Located<string> | undefined,
  { machineType, types }: DiskChoice,
  findings: Findings,
): BootDiskType {
  const type = BOOT_DISK_TYPES.find((known) => known === written?.value);
  if (written === undefined || written.value === '') {
    return types[0];
  }
  if (type === undefined) {
    const message = `There is no boot disk type ${quote(written.value)}.`;
    const remedy = `${didYouMean(written.value, BOOT_DISK_TYPES)}Write ${types.join(' or ')}, or nothing.`;
    rejectOnce(written, { code: 'UNKNOWN_DISK_TYPE', message, remedy }, findings);
    return types[0];
  }
  if (!types.includes(type)) {
    const message = `${machineType} cannot boot from ${type}.`;
    const remedy = `Write ${types.join(' or ')}, or nothing.`;
    addOnce(findings.problems, { code: 'WRONG_DISK_TYPE', message, remedy, ...locationOf(written) });
    return types[0];
  }
  if (type !== types[0]) {
    const message = `${written.path} has no effect where a machine image says what disk a VM boots from.`;
    const remedy = `It can be removed; the usual type is ${types[0]}.`;
    addOnce(findings.warnings, { code: 'FIELD_WITHOUT_EFFECT', message, remedy, ...locationOf(written) });
  }
  return type;
}

/** In proto3 a size of 0 is none said. */
function checkSize(written: Located<number> | undefined, findings: Findings): number {
  if (written === undefined || written.value === 0) {
    return BOOT_DISK_GIB_DEFAULT;
  }
  if (written.value >= BOOT_DISK_GIB_MIN && written.value <= BOOT_DISK_GIB_MAX) {
    return written.value;
  }
  const message = `A boot disk has ${BOOT_DISK_GIB_MIN} to ${BOOT_DISK_GIB_MAX} GiB, not ${written.value}.`;
  const remedy = 'Write a size between the two.';
  addOnce(findings.problems, { code: 'INVALID_DISK_SIZE', message, remedy, ...locationOf(written) });
  return BOOT_DISK_GIB_DEFAULT;
}
