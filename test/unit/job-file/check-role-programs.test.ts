import { describe, expect, it } from 'vitest';
import { EMPTY_DRAFT, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { checkPrograms } from '#shared/job-file/validation/check-programs.ts';
import { CONTEXT } from '../../support/job-file/context.ts';
import { listed, said } from '../../support/job-file/located.ts';
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
    return { ...pool, path, count: said(1, `${path}.replicaCount`) };
  });
  return { ...EMPTY_DRAFT, dialect: 'vertex-ai', pools };
}

describe('other roles on AI Platform', () => {
  it('run an image of their own, and the master’s where they name none', () => {
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

  it('that name the master’s image run the same', () => {
    const args = listed(['--x'], 'args');
    expect(check(jobOf({ master: { ...contained(), args }, worker: contained() })).programs?.ofRole).toEqual(NONE);
  });

  it('are judged as the master is', () => {
    const draft = jobOf({ master: contained(), worker: contained('No Image', 'workerConfig.imageUri') });
    expect(check(draft)).toEqual({ programs: null, codes: ['INVALID_IMAGE_URI workerConfig.imageUri'] });
  });
});

describe('worker pools of Vertex AI', () => {
  it('that run the same as the first need no program of their own, and others have one', () => {
    const { programs, codes } = check(vertexJobOf({ master: packaged(), worker: packaged(), ps: contained() }));
    expect(codes).toEqual([]);
    expect(programs).toEqual({ program: PYTHON, ofRole: { ...NONE, ps: CONTAINER } });
  });

  it('pass a container what its containerSpec says', () => {
    const program = { ...contained(), containerArgs: listed(['--x'], 'workerPoolSpecs[0].containerSpec.args') };
    expect(check(vertexJobOf({ master: program })).programs?.program).toEqual({ ...CONTAINER, args: ['--x'] });
  });

  it('miss what they lack at its place', () => {
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

  it('without replicas may say nothing', () => {
    const draft = vertexJobOf({ master: packaged(), worker: {}, ps: contained() });
    const pools = draft.pools.map((pool) => (pool.role === 'worker' ? { ...pool, count: said(0, 'count') } : pool));
    expect(check({ ...draft, pools })).toEqual({
      programs: { program: PYTHON, ofRole: { ...NONE, ps: CONTAINER } },
      codes: [],
    });
    const leftOut = draft.pools.map((pool) => (pool.role === 'worker' ? { ...pool, count: undefined } : pool));
    expect(check({ ...draft, pools: leftOut }).codes).toEqual([]);
  });

  it('run a package or a container, not both', () => {
    expect(check(vertexJobOf({ master: { ...contained(), ...packaged() } })).codes).toEqual([
      'TWO_PROGRAMS pythonModule',
    ]);
  });

  it('of which the reader has said that they have no program are not said to lack its parts as well', () => {
    const findings = createFindings();
    findings.problems.push({ code: 'POOL_PROGRAM', message: '', remedy: '', path: 'workerPoolSpecs[0]' });
    expect(checkPrograms(vertexJobOf({}), CONTEXT, findings)).toBeNull();
    expect(findings.problems).toHaveLength(1);
  });
});
