import { describe, expect, it } from 'vitest';
import golden from '#shared/protocol/golden/series-part.json' with { type: 'json' };
import { parsePartLine, parsePartName } from '#shared/protocol/series-part.ts';

describe('a part of a metric history', () => {
  it.each(golden.parts)('is recognized by its name: $name', ({ name, ...part }) => {
    expect(parsePartName(name)).toEqual(part);
  });

  it.each([
    'attempt-0-master-0-boot-0000-000001.metrics.jsonl.gz',
    'attempt-1-master-0-boot-00000-000001.metrics.jsonl.gz',
    'attempt-1-master-0-boot-0000-000001.other.jsonl.gz',
    'attempt-1-../master-0-boot-0000-000001.metrics.jsonl.gz',
    'attempt-1-master-0-boot-0000-000001.metrics.jsonl.gz/x',
    '',
  ])('has no other name, such as %s', (name) => {
    expect(parsePartName(name)).toBeUndefined();
  });

  it.each(golden.lines)('has a line for the points of $name', ({ line, name, steps, times, values }) => {
    expect(parsePartLine(line)).toEqual({
      name,
      steps: steps === null ? null : Float64Array.from(steps),
      times: Float64Array.from(times),
      values: Float64Array.from(values, Number),
    });
  });

  it('has a line for what was left out', () => {
    const { line, ...omitted } = golden.omitted;
    expect(parsePartLine(line)).toEqual({ omitted });
  });

  it.each([
    'null',
    '[]',
    '{}',
    '{"name":"a","at":1,"times":[0],"values":[1',
    '{"name":"a","at":1,"times":[0],"values":[]}',
    '{"name":"a","at":1,"times":[],"values":[]}',
    '{"name":"a","at":1,"times":[0,1],"values":[1]}',
    '{"name":"a","at":1,"times":[0],"steps":[],"values":[1]}',
    '{"name":"a","at":1,"times":[0],"values":["nan"]}',
    '{"name":"a","at":1,"times":[0],"values":[null]}',
    '{"name":"a","at":1,"times":[1e999],"values":[1]}',
    '{"name":"a","at":"1","times":[0],"values":[1]}',
    '{"name":"","at":1,"times":[0],"values":[1]}',
    '{"omitted":{"series":"1","points":1}}',
    '{"omitted":7}',
  ])('has no other line, such as %s', (line) => {
    expect(parsePartLine(line)).toBeUndefined();
  });
});
