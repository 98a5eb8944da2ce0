import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { printSpec } from '#shared/job-file/print-spec.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import { queuedJob } from '../../support/domain/example-job.ts';
import { CONTEXT } from '../../support/job-file/context.ts';

const FOLDER = new URL('../../fixtures/job-files/', import.meta.url);
const DEFAULTS = { ...CONTEXT.defaults, jobId: 'first', packageUris: ['gs://packages/p.tar.gz'], pythonModule: 'a.b' };

/** Every job file of the fixtures that can be submitted. */
const specs = readdirSync(FOLDER).flatMap((name) => {
  const { draft } = readJobFile(readFileSync(new URL(name, FOLDER)), { fileName: name });
  const check = draft === null ? null : checkJob(draft, { ...CONTEXT, defaults: DEFAULTS });
  return check === null || check.spec === null || check.unsupported.length > 0 ? [] : [{ name, spec: check.spec }];
});

describe('printing an accepted job', () => {
  it('finds jobs of every format among the fixtures', () => {
    expect(specs.length).toBeGreaterThan(20);
    expect(new Set(specs.map(({ spec }) => printSpec(spec).dialect)).size).toBeGreaterThan(1);
  });

  it.each(specs)('$name: prints a file that reads as the same job', ({ spec }) => {
    const { jobFile, isComplete } = printSpec(spec);
    expect(isComplete, jobFile).toBe(true);
  });

  it('prints what a job says of health and notifications', () => {
    const { spec } = queuedJob();
    const health = { nonFinite: 'rollback', stalledAfterMs: 90_000 } as const;
    const notify = { channels: ['ops'], states: ['FAILED'] } as const;
    expect(printSpec({ ...spec, service: 'VERTEX_AI', health, notify })).toMatchObject({ isComplete: true });
  });

  it('prints few fields for a plain job', () => {
    const spec: JobSpec = { ...queuedJob().spec, service: 'VERTEX_AI', limits: { ...DEFAULT_LIMITS } };
    expect(printSpec(spec).jobFile).toBe(`name: digits
module: trainer.task
packages:
  - gs://jobs/digits.tar.gz
runtime: "2.11"
machine: n1-standard-4
region: us-central1
output: gs://jobs/digits
`);
  });
});

const DEFAULT_LIMITS = { maxRunningMs: 7 * 24 * 3_600_000, maxWaitMs: null, restartsMax: 0, keepOnFailureMs: 0 };
