import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli, startTestCloud, type TestCloud } from '../../support/cli/test-cloud.ts';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => cloud.close());

const cli = (...argv: string[]) => runCli(argv, { dataDir: cloud.dataDir, cwd: cloud.dataDir });
const cells = (line: string | undefined) => line?.split(/\s{2,}/);

describe('dropforge metrics', () => {
  it('lists the metrics of the program with their last values, and says what was not kept', async () => {
    const { code, stdout } = await cli('metrics', 'digits');
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.slice(0, 3).map(cells)).toEqual([
      ['METRIC', 'REPLICA', 'LAST', 'STEP', 'MIN', 'MAX', 'POINTS'],
      ['loss', 'master-0', 'NaN', '3', '0.1235', '2.5', '3'],
      ['=accuracy?[31m', 'master-0', '0.5', '1', '0.5', '0.5', '1'],
    ]);
    expect(lines.slice(3).join(' ')).toMatch(/^9000 more metrics .* 123 values were not kept/);
  });

  it('lists the readings of the VMs with their units', async () => {
    const { stdout } = await cli('metrics', 'digits', '--system');
    expect(cells(stdout.split('\n')[1])).toEqual(['memory/used', 'worker-1', '8 GiB', '-', '1 MiB', '8 GiB', '9']);
    expect((await cli('metrics', 'digits', '--system', '--replica=master-0')).stdout).toContain(
      'no system metrics yet',
    );
  });

  it('prints the points of a metric, by attempt', async () => {
    const { stdout } = await cli('metrics', 'digits', 'loss');
    expect(stdout.split('\n').slice(1, 4).map(cells)).toEqual([
      ['loss', 'master-0', '1', '1', '2026-11-21 06:44:49 UTC', '2.5'],
      ['loss', 'master-0', '1', '2', '2026-11-21 06:44:50 UTC', '0.1235'],
      ['loss', 'master-0', '2', '3', '2026-11-21 06:45:49 UTC', 'NaN'],
    ]);
  });

  it('prints them as CSV and as JSON, with all digits', async () => {
    expect((await cli('metrics', 'digits', 'loss', '--format=csv')).stdout.split('\n').slice(0, 3)).toEqual([
      'name,replica,attempt,step,time,value',
      'loss,master-0,1,1,2026-11-21T06:44:49.000Z,2.5',
      'loss,master-0,1,2,2026-11-21T06:44:50.000Z,0.1234567',
    ]);
    expect(JSON.parse((await cli('metrics', 'digits', '--format=json')).stdout)).toMatchObject([
      { name: 'loss', last: { value: 'NaN' } },
      { name: '=accuracy\u001b[31m' },
    ]);
  });

  it('fails for a metric that the job does not have, and for wrong usage', async () => {
    const unknown = await cli('metrics', 'digits', 'loss', 'acc');
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      expect.stringContaining('Job digits has no metric acc: list them'),
    ]);
    const usage = await cli('metrics', 'digits', 'loss', '--points=0');
    expect([usage.code, usage.stderr]).toEqual([
      2,
      expect.stringContaining('--points must be a whole number from 1 to 4000'),
    ]);
    expect((await cli('metrics')).code).toBe(2);
  });
});
