import { describe, expect, it } from 'vitest';
import { EMPTY_DRAFT, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { checkPrograms } from '#shared/job-file/validation/check-programs.ts';
import { CONTEXT } from '../../support/job-file/context.ts';
import { listed, located } from '../../support/job-file/located.ts';
import {
  CONTAINER,
  check,
  contained,
  jobOf,
  NONE,
  type Programs,
  PYTHON,
  packaged,
} from '../../support/job-file/program-drafts.ts';

function vertexJobOf(programs: Programs): JobDraft {
  const pools = jobOf(programs).pools.map((pool, index) => {
    const path = `workerPoolSpecs[${index}]`;
    return { ...pool, path, count: located(1, `${path}.replicaCount`) };
  });
  return { ...EMPTY_DRAFT, dialect: 'vertex-ai', pools };
}

describe('programs of other roles on AI Platform', () => {
  it('use their own image, or the master’s by default', () => {
    const containerArgs = listed(['--role=ps'], 'parameterServerConfig.containerArgs');
    const { programs, codes } = check(
      jobOf({ master: contained(), worker: contained('gcr.io/acme/worker'), ps: { containerArgs }, evaluator: {} }),
    );
    expect(codes).toEqual([]);
    expect(programs?.ofRole).toEqual({
      master: null,
      worker: { ...CONTAINER, imageUri: 'gcr.io/acme/worker' },
      ps: { ...CONTAINER, args: ['--role=ps'] },
      evaluator: null,
    });
  });

  it('with the master’s image run the master’s program', () => {
    const args = listed(['--x'], 'args');
    expect(check(jobOf({ master: { ...contained(), args }, worker: contained() })).programs?.ofRole).toEqual(NONE);
  });

  it('are validated like the master’s', () => {
    const draft = jobOf({ master: contained(), worker: contained('No Image', 'workerConfig.imageUri') });
    expect(check(draft)).toEqual({ programs: null, codes: ['INVALID_IMAGE_URI workerConfig.imageUri'] });
  });
});

describe('programs of Vertex AI worker pools', () => {
  it('are recorded per role only if they differ from the first pool’s', () => {
    const { programs, codes } = check(vertexJobOf({ master: packaged(), worker: packaged(), ps: contained() }));
    expect(codes).toEqual([]);
    expect(programs).toEqual({ program: PYTHON, ofRole: { ...NONE, ps: CONTAINER } });
  });

  it('pass containerSpec.args to the container', () => {
    const program = { ...contained(), containerArgs: listed(['--x'], 'workerPoolSpecs[0].containerSpec.args') };
    expect(check(vertexJobOf({ master: program })).programs?.program).toEqual({ ...CONTAINER, args: ['--x'] });
  });

  it('report a missing field at its path in the pool', () => {
    const containerArgs = listed(['--x'], 'workerPoolSpecs[2].containerSpec.args');
    const worker = { packageUris: listed(['gs://bkt/t.whl'], 'packageUris') };
    const defaults = { ...CONTEXT.defaults, packageUris: ['gs://up/a.whl'], pythonModule: 'found.task' };
    expect(check(vertexJobOf({ worker, ps: { containerArgs } }), { ...CONTEXT, defaults }).codes).toEqual([
      'MISSING_FIELD workerPoolSpecs[1].pythonPackageSpec.pythonModule',
      'MISSING_FIELD workerPoolSpecs[2].containerSpec.imageUri',
    ]);
    expect(check(vertexJobOf({})).codes).toEqual([
      'MISSING_FIELD workerPoolSpecs[0].pythonPackageSpec.packageUris',
      'MISSING_FIELD workerPoolSpecs[0].pythonPackageSpec.pythonModule',
    ]);
  });

  it('may be missing in a pool without replicas', () => {
    const draft = vertexJobOf({ master: packaged(), worker: {}, ps: contained() });
    const pools = draft.pools.map((pool) => (pool.role === 'worker' ? { ...pool, count: located(0, 'count') } : pool));
    expect(check({ ...draft, pools })).toEqual({
      programs: { program: PYTHON, ofRole: { ...NONE, ps: CONTAINER } },
      codes: [],
    });
    const leftOut = draft.pools.map((pool) => (pool.role === 'worker' ? { ...pool, count: undefined } : pool));
    expect(check({ ...draft, pools: leftOut }).codes).toEqual([]);
  });

  it('are a package or a container, not both', () => {
    expect(check(vertexJobOf({ master: { ...contained(), ...packaged() } })).codes).toEqual([
      'TWO_PROGRAMS pythonModule',
    ]);
  });

  it('are not reported as incomplete if the parser has already reported that there is none', () => {
    const findings = createFindings();
    findings.problems.push({ code: 'POOL_PROGRAM', message: '', remedy: '', path: 'workerPoolSpecs[0]' });
    expect(checkPrograms(vertexJobOf({}), CONTEXT, findings)).toBeNull();
    expect(findings.problems).toHaveLength(1);
  });
});
