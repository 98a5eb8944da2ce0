import { describe, expect, it } from 'vitest';
import { checkPlace } from '#shared/job-file/validation/check-region.ts';
import { describeProblem } from '../../support/job-file/describe-problem.ts';
import { custom, machinesOf, pools } from '../../support/job-file/read-machines.ts';

function locationOf(text: string, regionDefault = 'us-central1') {
  const { draft, groups, findings } = machinesOf(text);
  const before = findings.problems.length;
  const place = checkPlace(draft, { machines: groups, regionDefault }, findings);
  return { place, found: findings.problems.slice(before) };
}

function gpu(type: string): string {
  return `machineSpec: {machineType: n1-standard-8, acceleratorType: ${type}, acceleratorCount: 1}, replicaCount: 1`;
}

function machine(type: string): string {
  return `machineSpec: {machineType: ${type}}, replicaCount: 1`;
}

describe('the place of a job', () => {
  it('is the region that it names, or the default, with the zones that have its machine', () => {
    expect(locationOf(custom('masterType: standard_p100'))).toEqual({
      place: { region: 'us-central1', zones: ['us-central1-c', 'us-central1-f'] },
      found: [],
    });
    expect(locationOf(custom('masterType: standard_p100, region: europe-west4')).place).toEqual({
      region: 'europe-west4',
      zones: ['europe-west4-a'],
    });
  });

  it('has only the zones in which all of its machines are', () => {
    const zonesOf = (...specs: readonly string[]) => locationOf(pools(...specs)).place?.zones;
    const [p100, l4] = [gpu('NVIDIA_TESLA_P100'), machine('g2-standard-8')];
    expect(zonesOf(p100)).toEqual(['us-central1-c', 'us-central1-f']);
    expect(zonesOf(l4)).toEqual(['us-central1-a', 'us-central1-b', 'us-central1-c']);
    expect(zonesOf(p100, l4)).toEqual(['us-central1-c']);
  });

  it('is none without a zone that has the machine, and other regions are named, near ones first', () => {
    const { place, found } = locationOf(custom('masterType: a2-highgpu-1g, region: us-west2'));
    expect(place).toBeNull();
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

  it('is none where the machines are in zones of their own, and regions that have all of them are named', () => {
    const text = pools(gpu('NVIDIA_TESLA_T4'), gpu('NVIDIA_TESLA_P100'));
    const { place, found } = locationOf(text, 'australia-southeast1');
    expect(place).toBeNull();
    expect(found).toEqual([
      {
        code: 'NO_ZONE',
        message:
          'The region australia-southeast1 has zones for each of the machines, but none with all of them: n1-standard-8 with 1 × T4, n1-standard-8 with 1 × P100.',
        remedy:
          'Choose other machine types, or one of the regions asia-east1, europe-west1, europe-west4, us-central1, us-east1, us-west1.',
        path: '--region',
      },
    ]);
  });

  it('is none where no region has all of the machines', () => {
    const [problem] = locationOf(pools(machine('a2-ultragpu-1g'), machine('a4-highgpu-8g'))).found;
    expect(problem?.remedy).toBe('The catalog knows no zone that has all of them: choose other machine types.');
  });

  it.each([
    ['mars', 'UNKNOWN_REGION trainingInput.region'],
    ['us-centrall', 'UNKNOWN_REGION trainingInput.region'],
    ['"<region>"', 'PLACEHOLDER trainingInput.region'],
  ])('is no region called %s', (region, problem) => {
    const { place, found } = locationOf(custom(`masterType: standard, region: ${region}`));
    expect({ place, found: found.map(describeProblem) }).toEqual({ place: null, found: [problem] });
  });

  it('is not looked for as long as the machines are not known', () => {
    expect(locationOf(custom('masterType: none, region: us-east1'))).toEqual({ place: null, found: [] });
    expect(locationOf(custom('masterType: none, region: mars')).found.map(describeProblem)).toEqual([
      'UNKNOWN_REGION trainingInput.region',
    ]);
  });

  it('does not look for TPUs, nor for machines that only a reservation of one’s own gives', () => {
    expect(locationOf(custom('masterType: standard_p100, workerType: cloud_tpu, workerCount: 1')).place?.zones).toEqual(
      ['us-central1-c', 'us-central1-f'],
    );
    const reserved = 'reservationAffinity: {reservationAffinityType: SPECIFIC_RESERVATION}';
    expect(locationOf(pools(`machineSpec: {machineType: a4x-highgpu-4g, ${reserved}}`)).found).toEqual([]);
    expect(locationOf(pools(machine('a4x-highgpu-4g'))).found.map(describeProblem)).toEqual(['NO_ZONE --region']);
  });
});
