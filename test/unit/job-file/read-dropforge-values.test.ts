import { describe, expect, it } from 'vitest';
import { readCatalog, toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import { masterOf } from '#shared/job-file/draft/job-draft.ts';
import { parseGpus } from '#shared/job-file/formats/dropforge/gpus.ts';
import { firstOf, readOwn, valuesOf } from '../../support/job-file/read-own-job.ts';

describe('GPUs', () => {
  it.each(readCatalog().accelerators)(
    '$label can be written by each of its names',
    ({ name, label, memoryGibPerGpu }) => {
      const names = [label, label.toLowerCase(), name, toAcceleratorEnum(name), `${label}-${memoryGibPerGpu}GB`];
      for (const text of names.flatMap((each) => [each, `2 x ${each}`, `2x${each}`, `${each}:2`])) {
        expect(parseGpus(text).type, text).toBe(toAcceleratorEnum(name));
        expect(parseGpus(text).count, text).toBe(text.includes('2x') || /^2 x|:2$/.test(text) ? 2 : 1);
      }
    },
  );

  it('determine the machine type if it is absent, located at the field gpu', () => {
    expect(masterOf(readOwn('module: a\ngpu: L4').draft).machineType).toEqual({
      value: 'g2-standard-8',
      path: 'gpu',
      line: 2,
    });
    expect(firstOf('gpu: T4\nmachine: n1-highmem-16')).toMatchObject({ machineType: 'n1-highmem-16' });
  });

  it.each([
    ['an unknown type stays as written', 'T44', { type: 'T44', count: 1 }],
    ['a count without a machine type stays as written', '3 x T4', { type: 'NVIDIA_TESLA_T4', count: 3 }],
    ['a placeholder stays as written', '$GPU', { type: '$GPU', count: 1 }],
    ['a mapping without a count means one', '{type: l4}', { type: 'NVIDIA_L4', count: 1 }],
  ])('%s', (_, gpu, accelerator) => {
    const { draft, problems } = readOwn(`module: a\ngpu: ${gpu}`);
    expect(problems).toEqual([]);
    expect(valuesOf(masterOf(draft).accelerator)).toEqual(accelerator);
  });

  it('determine no machine type if the catalog has none', () => {
    expect(masterOf(readOwn('gpu: 3 x T4').draft).machineType).toBeUndefined();
    expect(masterOf(readOwn('module: a').draft).machineType).toBeUndefined();
  });
});

describe('durations', () => {
  it.each([
    ['12h', '43200s'],
    ['90m', '5400s'],
    ['2d', '172800s'],
    ['1.1h', '3960s'],
    ['1d 2h 3m 4.5s', '93784.5s'],
    ['3600s', '3600s'],
    ['3600.123456789s', '3600.123456789s'],
    ['0m', '0s'],
  ])('%s is %s', (text, value) => {
    expect(readOwn(`maxRuntime: ${text}`).draft.maxRunningTime?.value).toBe(value);
  });

  it.each(['3600', '12 hours', '1h2d', 'soon', '$LIMIT', '-1h', '""'])('%s stays as written', (text) => {
    expect(readOwn(`maxRuntime: ${text}`).draft.maxRunningTime?.value).toBe(text.replaceAll('"', ''));
  });
});
