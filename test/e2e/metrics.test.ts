import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type SeriesIndex,
  type SeriesPage,
  seriesIndexSchema,
  seriesPageSchema,
} from '#shared/protocol/metric-series.ts';
import { type CloudUnderTest, jobFile, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

/** Counts to 60 from its last checkpoint, with one report a step; stdout has what was reported. */
const COUNTER = `
import json, os, time
checkpoint = os.path.join(os.environ['DROPFORGE_OUTPUT_DIR'], 'checkpoint.json')
start = json.load(open(checkpoint))['step'] + 1 if os.path.exists(checkpoint) else 0
for step in range(start, 61):
    print('report', step, flush=True)
    with open(os.environ['DROPFORGE_METRICS_FILE'], 'a') as file:
        file.write(json.dumps({'step': step, 'steps': 60, 'loss': 1 / (step + 1)}) + chr(10))
    with open(checkpoint + '.new', 'w') as file:
        json.dump({'step': step}, file)
    os.replace(checkpoint + '.new', checkpoint)
    time.sleep(0.1)
`;

/** Ten thousand names, 1,000 reports a second, and the peak memory of the agent, which is its parent. */
const FLOOD = `
import json, os, time
name = os.environ['DROPFORGE_METRICS_FILE']
def peak():
    with open(f'/proc/{os.getppid()}/status') as file:
        return int(next(line for line in file if line.startswith('VmHWM')).split()[1])
time.sleep(3)
before = peak()
with open(name, 'a') as file:
    file.write(json.dumps({'step': 0, 'loss': 0}) + chr(10))
    for index in range(10_000):
        file.write(json.dumps({'step': 1, f'name{index}': index}) + chr(10))
    file.write('x' * 3_000_000 + chr(10))
for second in range(10):
    with open(name, 'a') as file:
        for index in range(1_000):
            step = second * 1_000 + index
            value = 'NaN' if step == 9_500 else 1e400 if step == 8_600 else step
            file.write(json.dumps({'step': step, 'loss': value}) + chr(10))
    time.sleep(1)
time.sleep(3)
print('grown', peak() - before, flush=True)
`;

/** The memory that 1,000 names, their states and a block of 1 MiB of reports take at once. */
const AGENT_GROWTH_KIB_MAX = 48 * 1_024;

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ timeouts: { syncMs: 500 }, preemptionNoticeSeconds: 3 });
});

afterAll(() => cloud.stop());

async function readIndex(jobId: string): Promise<SeriesIndex> {
  return seriesIndexSchema.parse(await (await fetch(`${cloud.endpoints.api}/v1/jobs/${jobId}/metrics`)).json());
}

async function readPoints(jobId: string, query: string): Promise<SeriesPage['series']> {
  const response = await fetch(`${cloud.endpoints.api}/v1/jobs/${jobId}/metrics/points?${query}`);
  return seriesPageSchema.parse(await response.json()).series;
}

async function printed(jobId: string, word: string): Promise<readonly number[]> {
  const lines = (await cloud.readLog(jobId)).map(({ text }) => text).filter((text) => text.startsWith(`${word} `));
  return lines.map((text) => Number(text.split(' ')[1]));
}

async function interrupt(jobId: string, action: string): Promise<void> {
  await cloud.upload(`${jobId}.tar.gz`, await packProgram(COUNTER, jobFile(jobId)));
  const running = await cloud.awaitJob(jobId, ({ replicas }) => (replicas[0]?.step ?? 0) >= 15);
  await cloud.act(`/vms/${running.replicas[0]?.vmName}:${action}`);
  expect(await cloud.awaitJob(jobId)).toMatchObject({ state: 'SUCCEEDED' });
}

describe('the metric history', () => {
  it('of a job that was preempted has a curve for each attempt, without gaps or doubles', async () => {
    await interrupt('preempted', 'preempt');
    const reported = await printed('preempted', 'report');
    const [first, second, ...others] = await readPoints('preempted', 'name=loss&pointsMax=4000');
    expect([first?.attempt, second?.attempt, others]).toEqual([1, 2, []]);
    expect([...(first?.steps ?? []), ...(second?.steps ?? [])]).toEqual(reported);
    expect(second?.values).toEqual(second?.steps?.map((step) => 1 / (step + 1)));
    const times = [...(first?.times ?? []), ...(second?.times ?? [])];
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  it('of a job whose VM was reset has every report once', async () => {
    await interrupt('reset', 'reset');
    const [series, ...others] = await readPoints('reset', 'name=loss&pointsMax=4000');
    expect(others).toEqual([]);
    const steps = series?.steps ?? [];
    const restarts = steps.flatMap((step, index) => (step === (steps[index - 1] ?? -1) + 1 ? [] : [index]));
    expect(restarts.length).toBeLessThanOrEqual(1);
    // The program goes on after its last checkpoint, which may be one step behind its last report.
    expect([steps.length - 61, steps.at(-1)]).toEqual([restarts.length, 60]);
    // Its last lines may be missing in the log, but not its last reports in the history.
    expect(new Set(steps)).toEqual(new Set([...steps, ...(await printed('reset', 'report'))]));
  });

  it('of a running job has a point soon after it was reported, and readings of its VM at its end', async () => {
    await cloud.upload('running.tar.gz', await packProgram(COUNTER, jobFile('running')));
    await cloud.awaitJob('running', ({ replicas }) => (replicas[0]?.step ?? 0) >= 15);
    const [series] = await readPoints('running', 'name=loss');
    expect(series?.steps?.at(-1)).toBeGreaterThanOrEqual(5);
    expect(await cloud.awaitJob('running')).toMatchObject({ state: 'SUCCEEDED' });
    const { series: names } = await readIndex('running');
    expect(names.find(({ name }) => name === 'loss')).toMatchObject({ pointCount: 61, last: { attempt: 1, step: 60 } });
    expect(names.find(({ name }) => name === 'memory/used')).toMatchObject({ kind: 'SYSTEM', unit: 'bytes' });
  });

  it('of ten thousand names and a thousand reports a second takes little memory, and the job succeeds', async () => {
    await cloud.upload('flood.tar.gz', await packProgram(FLOOD, jobFile('flood')));
    expect(await cloud.awaitJob('flood')).toMatchObject({ state: 'SUCCEEDED' });
    const { series, omitted } = await readIndex('flood');
    expect(series.filter(({ kind }) => kind === 'PROGRAM')).toHaveLength(1_000);
    expect(omitted.series).toBeGreaterThanOrEqual(9_000);
    expect(series.find(({ name }) => name === 'loss')).toMatchObject({
      last: { step: 9_999, value: 9_999 },
      max: 9_999,
    });
    const [loss] = await readPoints('flood', 'name=loss&pointsMax=500');
    expect(loss?.values).toEqual(expect.arrayContaining(['NaN', 'Infinity']));
    expect(loss?.values.length).toBeLessThanOrEqual(500);
    const [grownKib] = await printed('flood', 'grown');
    expect(grownKib).toBeLessThan(AGENT_GROWTH_KIB_MAX);
  });
});
