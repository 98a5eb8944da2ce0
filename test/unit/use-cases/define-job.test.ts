import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { printSpec } from '#shared/job-file/print-spec.ts';
import { defineJob } from '#shared/use-cases/reports/define-job.ts';
import { queuedJob } from '../../support/domain/example-job.ts';

const { spec } = queuedJob();

function repetitionOf(overrides: Partial<typeof spec>) {
  return defineJob({ spec: { ...spec, ...overrides }, packages: [], warnings: [] }).repetition;
}

describe('the definition of a job', () => {
  it('is its job file, with what intake found', () => {
    const warning = { code: 'K80', message: 'K80 is replaced.', remedy: 'Write T4.' };
    const packages = [{ uri: 'gs://jobs/digits.tar.gz', generation: '1', crc32c: 'AAAAAA==', sizeBytes: 7 }];
    expect(defineJob({ spec, packages, warnings: [warning] })).toMatchObject({
      jobFile: printSpec(spec).jobFile,
      isComplete: true,
      warnings: [warning],
      packages: [{ uri: 'gs://jobs/digits.tar.gz', sizeBytes: 7 }],
    });
  });

  it('is repeated under the next id, and never in the job directory of the first', () => {
    expect(repetitionOf({}).jobId).toBe('digits_2');
    expect(repetitionOf({}).jobFile).toContain('jobDir: gs://jobs/digits_2\n');
    expect(repetitionOf({ jobId: 'digits_9' }).jobId).toBe('digits_10');
    expect(repetitionOf({ jobDir: 'gs://jobs/my/run' }).jobFile).toContain('jobDir: gs://jobs/my/run/digits_2\n');
    expect(repetitionOf({ jobId: 'digits_trial_4' }).jobId).toBe('digits_from_trial4_2');
    expect(repetitionOf({ jobId: 'a'.repeat(128) }).jobId).toHaveLength(115);
  });

  it('is submitted by a command that a shell leaves as it is', () => {
    const args = ['$HOME', '`id`', 'JOB_FILE', 'a\nJOB_FILE\nb', "it's"];
    const program = { ...spec.program, kind: 'PYTHON', module: 'a', packageUris: ['gs://jobs/p.whl'], args } as const;
    const { command, jobFile } = repetitionOf({ program });
    const [writing] = command.split('\ndropforge ');
    const shown = execFileSync('bash', ['-c', `${writing?.replace('cat > digits_2.yaml', 'cat')}`], {
      encoding: 'utf8',
    });
    expect(shown).toBe(jobFile);
    expect(command.trimEnd().split('\n').at(-1)).toBe('dropforge jobs submit training digits_2 --config digits_2.yaml');
  });
});
