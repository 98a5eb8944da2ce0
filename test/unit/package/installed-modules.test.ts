import { expect, it } from 'vitest';
import { isInstalledModule } from '#shared/package/metadata/installed-modules.ts';

const SURROUNDINGS = {
  requirements: [
    'torch>=2.1',
    '# a comment',
    '--extra-index-url https://x',
    'pytorch-lightning==2.2 ; python_version > "3.8"',
  ],
  imports: new Set(['numpy', 'accelerate', 'os']),
  own: ['trainer', 'trainer.task'],
};

it.each([
  ['torch.distributed.run', true, 'is of a requirement'],
  ['pytorch_lightning.cli', true, 'is of a requirement whose name is written differently'],
  ['accelerate.commands.launch', true, 'is of a library that the code imports'],
  ['cProfile', true, "is one of Python's tools"],
  ['trainer.taks', false, 'would be one of the package'],
  ['trainer', false, 'is the package itself'],
  ['spacy', false, 'is of a library that nothing names'],
  ['numpy.task', false, 'is of a library without modules to run'],
  ['os.tsak', false, "is none of Python's tools"],
  ['torch.py', false, 'is a script'],
])('%s is installed: %s, since it %s', (module, expected) => {
  expect(isInstalledModule(module, SURROUNDINGS)).toBe(expected);
});
