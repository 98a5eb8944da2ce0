import { familyOf, type Machine } from '#shared/catalog/catalog.ts';
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

/** The boot disk of a pool's machines; what is wrong with it is among the findings, and the default in its place. */
export function checkDisk(
  { bootDiskGib, bootDiskType }: PoolDraft,
  { machineType }: Machine,
  findings: Findings,
): Pick<ReplicaGroup, 'bootDiskGib' | 'bootDiskType'> {
  return {
    bootDiskGib: checkSize(bootDiskGib, findings),
    bootDiskType: checkType(bootDiskType, { machineType, types: familyOf(machineType).bootDisks }, findings),
  };
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
