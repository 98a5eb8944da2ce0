import { describe, expect, it } from 'vitest';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import { CONTEXT } from '../../support/job-file/context.ts';
import { readOwn } from '../../support/job-file/read-own-job.ts';

const JOB = 'name: a\nmachine: n1-standard-4\nenv: {A: b}\n';
const PYTHON = `${JOB}packages: [gs://bkt/t.tar.gz]\nmodule: trainer.task\nargs: [--x]\n`;
const CONTAINER = `${JOB}image: ghcr.io/o/a:1\ncommand: [run]\nargs: [--x]\n`;

/** The workers' own program, or the codes and paths of the problems. */
function workersOf(text: string) {
  const { spec, problems } = checkJob(readOwn(text).draft, CONTEXT);
  const group = spec?.replicaGroups.find(({ role }) => role === 'worker');
  return spec === null ? problems.map(({ code, path }) => `${code} ${path}`) : group?.program;
}

const ownOf = (job: string, fields: string) => workersOf(`${job}workers: {count: 2, ${fields}}\n`);

describe('a group', () => {
  it('runs the program of the job if it sets nothing of it', () => {
    expect(workersOf(`${PYTHON}workers: 2\n`)).toBeNull();
    expect(ownOf(CONTAINER, 'machine: n1-standard-8')).toBeNull();
    expect(ownOf(CONTAINER, 'args: [--x]')).toBeNull();
  });

  it('runs an image alone, with the environment of the job', () => {
    const image = { kind: 'CONTAINER', imageUri: 'ghcr.io/o/b:1', packageUris: [], module: null };
    const program = { ...image, image: null, command: [], args: [], environment: { A: 'b' } };
    expect(ownOf(PYTHON, 'image: "ghcr.io/o/b:1"')).toEqual(program);
    expect(ownOf(CONTAINER, 'image: "ghcr.io/o/b:1"')).toEqual(program);
    expect(ownOf(CONTAINER, 'image: "ghcr.io/o/b:1", command: [serve], args: {port: 1}')).toEqual({
      ...program,
      command: ['serve'],
      args: ['--port=1'],
    });
  });

  it('with a command or arguments runs them in the image of the job', () => {
    const image = { kind: 'CONTAINER', imageUri: 'ghcr.io/o/a:1' };
    expect(ownOf(CONTAINER, 'command: [serve]')).toMatchObject({ ...image, command: ['serve'], args: [] });
    expect(ownOf(CONTAINER, 'args: [--y]')).toMatchObject({ ...image, command: ['run'], args: ['--y'] });
  });

  it('with a module or a command runs it with the packages of the job, without its arguments', () => {
    const python = { kind: 'PYTHON', packageUris: ['gs://bkt/t.tar.gz'], environment: { A: 'b' } };
    expect(ownOf(PYTHON, 'module: trainer.evaluate')).toEqual({ ...python, module: 'trainer.evaluate', args: [] });
    expect(ownOf(PYTHON, 'command: [serve]')).toEqual({ ...python, module: null, command: ['serve'], args: [] });
    expect(ownOf(PYTHON, 'args: [--y]')).toEqual({ ...python, module: 'trainer.task', args: ['--y'] });
    expect(ownOf(PYTHON, 'packages: [gs://bkt/w.tar.gz]')).toMatchObject({
      ...{ module: 'trainer.task', packageUris: ['gs://bkt/w.tar.gz'], args: ['--x'] },
    });
    expect(ownOf(PYTHON, 'image: "ghcr.io/o/b:1", module: trainer.evaluate')).toMatchObject({
      ...{ kind: 'CONTAINER', packageUris: ['gs://bkt/t.tar.gz'], module: 'trainer.evaluate', args: [] },
    });
  });

  it('is rejected where its own program is not valid, with the place', () => {
    expect(ownOf(PYTHON, 'module: a-b.c.py')).toEqual(['INVALID_PYTHON_MODULE workers.module']);
    expect(ownOf(CONTAINER, 'module: a, command: [b]')).toEqual(['TWO_PROGRAMS workers.module']);
    expect(ownOf(CONTAINER, 'image: No Image')).toEqual(['INVALID_IMAGE_URI workers.image']);
  });
});
