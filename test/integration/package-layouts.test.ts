import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { decideLayout } from '#shared/package/metadata/package-layout.ts';

const AGENT = fileURLToPath(new URL('../../infra/vm-agent', import.meta.url));
const CASE_COUNT = 4_000;
const SEED = 28;

/** Reads cases from standard input, and prints the agent's layouts. */
const DECIDE = `
import json, sys
sys.path.insert(0, sys.argv[1])
from vm_agent.setup.package_layout import PackageTree, decide_layout
layouts = []
for case in json.load(sys.stdin):
    layout = decide_layout(PackageTree(case['archive'], set(case['files']), case['files'].get), case['module'])
    layouts.append({
        'style': layout.style,
        'root': layout.root,
        'importRoots': layout.import_roots,
        'program': layout.program and vars(layout.program),
        'workingDirectory': layout.working_directory,
        'requirementFiles': layout.requirement_files,
        'requirements': layout.requirements,
    })
json.dump(layouts, sys.stdout)
`;

/** Few names, so that modules, directories and files meet. */
const name = fc.constantFrom('trainer', 'task', 'train', 'src', 'm-1.0', 'setup', '__main__', '__init__');
const file = fc.constantFrom(
  ...[
    'train.py',
    'task.py',
    '__init__.py',
    '__main__.py',
    'setup.py',
    'setup.cfg',
    'pyproject.toml',
    'requirements.txt',
  ],
  ...['job.yaml', '.DS_Store', '._train.py', 'trainer.py', 'src.py'],
);
const path = fc
  .tuple(fc.array(name, { maxLength: 3 }), file)
  .map(([directories, last]) => [...directories, last].join('/'));
const text = fc.constantFrom(
  ...[
    '',
    'setup()',
    'setup(install_requires=[])',
    '[metadata]\nname = a\n',
    '[flake8]\n',
    '[options]\ninstall_requires =\n  a\n',
  ],
  ...[
    '[build-system]\nrequires = []\n',
    '[project]\nname = "a"\ndependencies = ["b>=1", "c"]\n',
    '[tool.setuptools]\n',
  ],
  ...[
    '[project.optional-dependencies]\na = []\n[build-system]\n',
    '[project]\nname = "a"\ndependencies = [',
    'dependencies = 3\n',
  ],
);
const module = fc.oneof(
  fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('.')),
  path.map((one) => one.replace(/[^/]*$/, 'train.py')),
  fc.constantFrom('', './train.py', 'setup.py'),
);
const archive = fc.constantFrom('m-1.0.tar.gz', 'm.zip', 'm.whl', 'train.py', 'requirements.txt');

it('the control plane and the agent decide alike for any tree', () => {
  const tree = fc.dictionary(path, text, { maxKeys: 8, noNullPrototype: true });
  const cases = fc.sample(fc.record({ archive, module, files: tree }), { numRuns: CASE_COUNT, seed: SEED });
  const decided = execFileSync('python3', ['-c', DECIDE, AGENT], { input: JSON.stringify(cases), encoding: 'utf8' });
  const layouts = z.array(z.record(z.string(), z.unknown())).parse(JSON.parse(decided));
  const expected = cases.map((one) => {
    const { files } = one;
    const tree = { name: one.archive, paths: new Set(Object.keys(files)), readText: (at: string) => files[at] ?? null };
    return { ...one, layout: decideLayout(tree, one.module) };
  });
  expect(cases.map((one, index) => ({ ...one, layout: layouts[index] }))).toEqual(expected);
});
