import { describe, expect, it } from 'vitest';
import { checkDisk } from '#shared/job-file/validation/check-disk.ts';
import { describeProblem } from '../../support/job-file/describe-problem.ts';
import { machinesOf, pools } from '../../support/job-file/read-machines.ts';

function disksOf(text: string) {
  const { groups, findings } = machinesOf(text);
  const disks = groups?.map(({ pool, machine }) => checkDisk(pool, machine, findings)) ?? [];
  return { disks, problems: findings.problems, warnings: findings.warnings };
}

function diskOf(machineType: string, diskSpec: string) {
  return disksOf(pools(`machineSpec: {machineType: ${machineType}}, diskSpec: {${diskSpec}}`));
}

describe('boot disks', () => {
  it('are 100 GiB of pd-ssd by default, as on AI Platform', () => {
    const disk = { bootDiskGib: 100, bootDiskType: 'pd-ssd' };
    expect(diskOf('n1-standard-4', '')).toEqual({ disks: [disk], problems: [], warnings: [] });
    expect(diskOf('n1-standard-4', 'bootDiskSizeGb: 0').disks).toEqual([disk]);
    expect(diskOf('n1-standard-4', 'bootDiskSizeGb: "200", bootDiskType: pd-ssd').warnings).toEqual([]);
  });

  it.each([
    ['a3-ultragpu-8g', 'hyperdisk-balanced'],
    ['a4-highgpu-8g', 'hyperdisk-balanced'],
    ['n4-standard-8', 'hyperdisk-balanced'],
    ['a3-highgpu-8g', 'pd-ssd'],
    ['c3d-standard-8', 'pd-ssd'],
    ['g2-standard-8', 'pd-ssd'],
  ])('of %s are %s by default, which it can boot from', (machineType, bootDiskType) => {
    expect(diskOf(machineType, '').disks).toEqual([{ bootDiskGib: 100, bootDiskType }]);
    expect(diskOf(machineType, `bootDiskType: ${bootDiskType}`).warnings).toEqual([]);
  });

  it.each([
    ['pd-standard', 'n1-standard-4'],
    ['pd-balanced', 'g2-standard-8'],
    ['hyperdisk-balanced', 'c3-standard-8'],
  ])('can be %s for %s, with a warning that a machine image may override it', (bootDiskType, machineType) => {
    const { disks, problems, warnings } = diskOf(machineType, `bootDiskType: ${bootDiskType}`);
    expect({ disks, problems }).toEqual({ disks: [{ bootDiskGib: 100, bootDiskType }], problems: [] });
    expect(warnings.map(describeProblem)).toEqual(['FIELD_WITHOUT_EFFECT workerPoolSpecs[0].diskSpec.bootDiskType']);
  });

  it('of a family without machine images are of the given type, without a warning', () => {
    const { disks, warnings } = diskOf('c3d-standard-8', 'bootDiskType: pd-balanced');
    expect({ disks, warnings }).toEqual({ disks: [{ bootDiskGib: 100, bootDiskType: 'pd-balanced' }], warnings: [] });
  });

  it.each([
    ['floppy', 'n1-standard-4', 'UNKNOWN_DISK_TYPE'],
    ['"<disk>"', 'n1-standard-4', 'PLACEHOLDER'],
    ['hyperdisk-balanced', 'n1-standard-4', 'WRONG_DISK_TYPE'],
    ['hyperdisk-balanced', 'a2-highgpu-1g', 'WRONG_DISK_TYPE'],
    ['pd-ssd', 'a4-highgpu-8g', 'WRONG_DISK_TYPE'],
    ['pd-standard', 'a3-highgpu-8g', 'WRONG_DISK_TYPE'],
    ['pd-standard', 'c3-standard-8', 'WRONG_DISK_TYPE'],
    ['pd-standard', 'c3d-standard-8', 'WRONG_DISK_TYPE'],
    ['pd-standard', 'g2-standard-8', 'WRONG_DISK_TYPE'],
  ])('cannot be %s for %s', (bootDiskType, machineType, code) => {
    const { problems } = diskOf(machineType, `bootDiskType: ${bootDiskType}`);
    expect(problems.map(describeProblem)).toEqual([`${code} workerPoolSpecs[0].diskSpec.bootDiskType`]);
  });

  it.each([
    [99, 1],
    [100, 0],
    [64_000, 0],
    [64_001, 1],
    [-1, 1],
  ])('of %i GiB: %i problems', (sizeGib, count) => {
    const { disks, problems } = diskOf('n1-standard-4', `bootDiskSizeGb: ${sizeGib}`);
    expect(problems.map(describeProblem)).toEqual(
      Array.from({ length: count }, () => 'INVALID_DISK_SIZE workerPoolSpecs[0].diskSpec.bootDiskSizeGb'),
    );
    expect(disks[0]?.bootDiskGib).toBe(count === 0 ? sizeGib : 100);
  });

  it('shared by groups are reported once', () => {
    const { disks, problems } = disksOf('module: t\ndisk: {size: 5, type: floppy}\nworkers: 2');
    expect(disks).toHaveLength(2);
    expect(problems.map(describeProblem)).toEqual(['INVALID_DISK_SIZE disk.size', 'UNKNOWN_DISK_TYPE disk.type']);
  });
});
