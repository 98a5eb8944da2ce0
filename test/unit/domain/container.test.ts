import { expect, it } from 'vitest';
import { argvOf } from '#shared/domain/container.ts';
import type { ContainerProgram } from '#shared/domain/job-spec.ts';

const IMAGE = {
  uri: 'a@sha256:0',
  sizeBytes: 1,
  entrypoint: ['/entry', '-v'],
  cmd: ['train'],
  user: '',
  workingDir: '',
};

it.each([
  ['neither: the entry point and arguments of the image', {}, ['/entry', '-v', 'train']],
  ['a command: both of the image are ignored', { command: ['sh', '-c'] }, ['sh', '-c']],
  ['arguments: the entry point of the image with them', { args: ['eval'] }, ['/entry', '-v', 'eval']],
  ['both: both of the image are replaced', { command: ['sh'], args: ['-c', 'ls'] }, ['sh', '-c', 'ls']],
])('a container with %s', (_, given, argv) => {
  expect(argvOf(containerOf(given))).toEqual(argv);
});

it('a container with a module runs it with the Python of the image', () => {
  expect(argvOf(containerOf({ module: 'trainer.task', args: ['--epochs=3'] }))).toEqual([
    'python3',
    '-m',
    'trainer.task',
    '--epochs=3',
  ]);
});

function containerOf(given: Partial<ContainerProgram>): ContainerProgram {
  const nothing = { command: [], args: [], environment: {}, packageUris: [], module: null };
  return { kind: 'CONTAINER', imageUri: 'a:1', image: IMAGE, ...nothing, ...given };
}
