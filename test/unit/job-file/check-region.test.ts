import { describe, expect, it } from 'vitest';
import { checkRegion } from '#shared/job-file/validation/check-region.ts';
import { describeProblem } from '../../support/job-file/describe-problem.ts';
import { custom, machinesOf, pools } from '../../support/job-file/read-machines.ts';

function regionOf(text: string, regionDefault = 'us-central1') {
  const { draft, groups, findings } = machinesOf(text);
  const before = findings.problems.length;
  const result = checkRegion(draft, { machines: groups, regionDefault }, findings);
  return { result, found: findings.problems.slice(before) };
}

function gpu(type: string): string {
  return `machineSpec: {machineType: n1-standard-8, acceleratorType: ${type}, acceleratorCount: 1}, replicaCount: 1`;
}

function machine(type: string): string {
  return `machineSpec: {machineType: ${type}}, replicaCount: 1`;
}

const P4 = 'masterType: n1-standard-8, masterConfig: {acceleratorConfig: {type: NVIDIA_TESLA_P4, count: 1}}';

describe('the region of a job', () => {
  it('is the given one or the default, with the zones that have the machine', () => {
    expect(regionOf(custom(P4))).toEqual({
      result: { region: 'us-central1', zones: ['us-central1-a', 'us-central1-c'] },
      found: [],
    });
    expect(regionOf(custom(`${P4}, region: europe-west4`)).result).toEqual({
      region: 'europe-west4',
      zones: ['europe-west4-b', 'europe-west4-c'],
    });
  });

  it('has only the zones that have all machines', () => {
    const zonesOf = (...specs: readonly string[]) => regionOf(pools(...specs), 'europe-west4').result?.zones;
    const [p4, a100] = [gpu('NVIDIA_TESLA_P4'), machine('a2-highgpu-1g')];
    expect(zonesOf(p4)).toEqual(['europe-west4-b', 'europe-west4-c']);
    expect(zonesOf(p4, a100)).toEqual(['europe-west4-b']);
  });

  it('is null without a zone that has the machine; other regions are suggested, the nearest first', () => {
    const { result, found } = regionOf(custom('masterType: a2-highgpu-1g, region: us-west2'));
    expect(result).toBeNull();
    expect(found).toEqual([
      {
        code: 'NO_ZONE',
        message: 'The region us-west2 has no zone with a2-highgpu-1g.',
        remedy: expect.stringMatching(/^Choose another machine type, or one of the regions (us-\w+, ){5}\S+\.$/),
        path: 'trainingInput.region',
        line: 1,
      },
    ]);
  });

  it('is null if no zone has all machines; regions that have all of them are suggested', () => {
    const text = pools(gpu('NVIDIA_TESLA_P4'), machine('a3-megagpu-8g'));
    const { result, found } = regionOf(text, 'australia-southeast1');
    expect(result).toBeNull();
    expect(found).toEqual([
      {
        code: 'NO_ZONE',
        message:
          'The region australia-southeast1 has zones for each of the machines, but no zone with all of them: n1-standard-8 with 1 × P4, a3-megagpu-8g.',
        remedy:
          'Choose other machine types, or one of the regions asia-southeast1, europe-west4, us-central1, us-east4.',
        path: '--region',
      },
    ]);
  });

  it('is null if no region has all machines', () => {
    const [problem] = regionOf(pools(machine('a2-ultragpu-1g'), machine('a4-highgpu-8g'))).found;
    expect(problem?.remedy).toBe('No known zone has all of them: choose other machine types.');
  });

  it.each([
    ['mars', 'UNKNOWN_REGION trainingInput.region'],
    ['us-centrall', 'UNKNOWN_REGION trainingInput.region'],
    ['"<region>"', 'PLACEHOLDER trainingInput.region'],
  ])('rejects the region %s', (region, problem) => {
    const { result, found } = regionOf(custom(`masterType: standard, region: ${region}`));
    expect({ result, found: found.map(describeProblem) }).toEqual({ result: null, found: [problem] });
  });

  it('is null while the machines are unknown', () => {
    expect(regionOf(custom('masterType: none, region: us-east1'))).toEqual({ result: null, found: [] });
    expect(regionOf(custom('masterType: none, region: mars')).found.map(describeProblem)).toEqual([
      'UNKNOWN_REGION trainingInput.region',
    ]);
  });

  it('ignores TPUs, and machines that are available by reservation only', () => {
    expect(regionOf(custom(`${P4}, workerType: cloud_tpu, workerCount: 1`)).result?.zones).toEqual([
      'us-central1-a',
      'us-central1-c',
    ]);
    const reserved = 'reservationAffinity: {reservationAffinityType: SPECIFIC_RESERVATION}';
    expect(regionOf(pools(`machineSpec: {machineType: a4x-highgpu-4g, ${reserved}}`)).found).toEqual([]);
    expect(regionOf(pools(machine('a4x-highgpu-4g')), 'us-west2').found.map(describeProblem)).toEqual([
      'NO_ZONE --region',
    ]);
  });
});
