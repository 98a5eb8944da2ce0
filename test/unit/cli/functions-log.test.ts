import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openFunctionsLog } from '../../../cli/client/functions-log.ts';
import { openTransitionLog } from '../../../cli/client/transition-log.ts';
import { invocations, traceIdOf } from '../../../shared/observability/invocation.ts';
import { createLogger } from '../../../shared/observability/logger.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'dropforge-log-'));
});
afterEach(() => rm(dataDir, { recursive: true }));

function open(bytesMax?: number) {
  const problems: string[] = [];
  const log = openFunctionsLog(dataDir, { onProblem: (line) => problems.push(line), ...(bytesMax && { bytesMax }) });
  return { problems, log, logger: createLogger(log.write, { projectId: 'p' }) };
}

async function readEntries(path: string): Promise<Record<string, unknown>[]> {
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line));
}

describe('the functions log', () => {
  it('has every entry as a JSON line with its time, including those of an earlier process', async () => {
    const { log, logger } = open();
    logger.log('INFO', 'job was created', { jobId: 'one' });
    open().logger.log('DEBUG', 'again');
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
    const labels = {
      'logging.googleapis.com/labels': { job_id: 'one' },
      'logging.googleapis.com/trace': `projects/p/traces/${traceIdOf('one')}`,
    };
    expect(await readEntries(log.path)).toEqual([
      { time, severity: 'INFO', message: 'job was created', jobId: 'one', ...labels },
      { time, severity: 'DEBUG', message: 'again' },
    ]);
  });

  it('reports warnings and errors, one line each, and no other entries', () => {
    const { problems, logger } = open();
    logger.log('INFO', 'quiet');
    logger.log('WARNING', 'delivery failed', { topic: 'provision', deliveryAttempt: 2, problem: '500 out\n of order' });
    logger.log('ERROR', 'function failed', { problem: 'x'.repeat(300), stack_trace: 'Error: x\n    at y' });
    logger.log('ERROR', 'all is lost');
    expect(problems).toEqual([
      'warning: delivery failed (topic provision, deliveryAttempt 2, problem 500 out of order)',
      `error: function failed (problem ${'x'.repeat(200)}…)`,
      'error: all is lost',
    ]);
  });

  it('uses at most twice its size limit on disk and keeps the newest entries', async () => {
    const { log, logger } = open(1_000);
    for (let index = 0; index < 100; index += 1) {
      logger.log('INFO', 'entry', { index });
    }
    expect((await readdir(dataDir)).sort()).toEqual(['functions.jsonl', 'functions.old.jsonl']);
    const kept = [...(await readEntries(join(dataDir, 'functions.old.jsonl'))), ...(await readEntries(log.path))];
    expect(kept.map(({ index }) => index)).toEqual(
      Array.from({ length: kept.length }, (_, index) => 100 - kept.length + index),
    );
    expect(JSON.stringify(kept).length).toBeLessThan(2_400);
    expect(kept.length).toBeGreaterThan(10);
  });

  it('has what VMs use only when it changes: here, the reconciler ticks each second', async () => {
    const { log, logger } = open();
    for (const [index, vms] of [0, 0, 1, 1, 0].entries()) {
      invocations.run({ service: 'watch', traceId: traceIdOf(`tick ${index}`) }, () => {
        logger.log('INFO', `${vms} VMs`, { kind: 'usage', vms });
        logger.log('DEBUG', 'tick');
      });
    }
    const usages = (await readEntries(log.path)).filter(({ kind }) => kind === 'usage');
    expect(usages.map(({ vms }) => vms)).toEqual([0, 1, 0]);
  });

  it('is followed by its transitions, across rotations, whatever other lines it has', async () => {
    const read = openTransitionLog(dataDir);
    const readIds = async () => (await read()).map(({ jobId }) => jobId);
    expect(await readIds()).toEqual([]);
    const { log, logger } = open(2_000);
    const transition = {
      ...{ kind: 'transition', event: 'SUBMITTED', from: null, to: 'QUEUED' },
      cause: null,
      by: null,
    };
    const change = (jobId: string) => logger.log('INFO', jobId, { ...transition, jobId, inStateMs: null });
    change('one');
    logger.log('INFO', 'tried again', { ...transition, jobId: 'waiting', inStateMs: null, isInHistory: false });
    logger.log('INFO', 'a "transition" of another form', { kind: 'transition' });
    await appendFile(log.path, 'not JSON, "transition"\n');
    expect(await readIds()).toEqual(['one']);
    const ids = Array.from({ length: 9 }, (_, index) => `job_${index}`);
    ids.forEach(change);
    expect((await readdir(dataDir)).length).toBe(2);
    expect(await readIds()).toEqual(ids);
    await appendFile(log.path, '{"time":"2026');
    expect([await readIds(), (await openTransitionLog(dataDir)()).length]).toEqual([[], 10]);
  });

  it('reports failed writes as problems instead of failing the function', async () => {
    const { log, problems, logger } = open();
    await rm(dataDir, { recursive: true });
    await writeFile(dataDir, 'not a folder');
    logger.log('INFO', 'unwritten');
    expect(problems).toEqual([expect.stringMatching(/functions\.jsonl cannot be written \(ENOTDIR.*unwritten/)]);
    expect(log.path.startsWith(dataDir)).toBe(true);
  });
});
