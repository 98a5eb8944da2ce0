import { expect, it } from 'vitest';
import { proposeJobFile } from '#dashboard/screens/drop/propose-job-file.ts';

it.each([
  [['task', 'trainer.task', 'trainer'], 'trainer.task'],
  [['helpers', 'train'], 'train'],
  [['a', 'pkg.digits'], 'pkg.digits'],
  [[], 'trainer.task'],
])('proposes a job file for the modules %j that runs %s', (modules, program) => {
  expect(proposeJobFile(modules)).toContain(`\nmodule: ${program}\n`);
});
