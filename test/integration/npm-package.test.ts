import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type InstalledPackage, installPackage, packPackage } from '#infra/tools/release/install-package.ts';
import { leaveOut } from '../support/run/leave-out.ts';
import { hasTerraform } from '../support/terraform/terraform.ts';
import { playInShell, readTutorials } from '../support/tutorial/tutorials.ts';

const INSTALLED_BYTES_MAX = 60e6;

const tutorials = (await readTutorials()).filter(({ needsTorch }) => !needsTorch);
const playable = tutorials.filter(({ needsTerraform }) => !needsTerraform || hasTerraform());
if (playable.length < tutorials.length) {
  leaveOut('terraform', 'the tutorial to Google Cloud');
}

let folder: string;
let tarball: string;
let installed: InstalledPackage;
let files: readonly string[];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dropforge-package-'));
  tarball = await packPackage(folder);
  installed = await installPackage(tarball, folder);
  files = await readdir(installed.directory, { recursive: true });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the npm package, installed without a registry in an empty home', () => {
  it('has no dependencies, no scripts of an installation, no tests and no settings, and at most 60 MB', async () => {
    const { dependencies, scripts } = JSON.parse(await readFile(join(installed.directory, 'package.json'), 'utf8'));
    expect(dependencies).toBeUndefined();
    expect(Object.keys(scripts).filter((name) => /install|^prepare/.test(name))).toEqual([]);
    expect(files.filter((path) => /node_modules|\.test\.|^test|\.tfvars|\.tfstate|__pycache__/.test(path))).toEqual([]);
    const sizes = await Promise.all(files.map(async (path) => (await stat(join(installed.directory, path))).size));
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(INSTALLED_BYTES_MAX);
  });

  it('trains the demo, and names its commands as they are typed', async () => {
    const { stdout, stderr } = await installed.run(['demo']);
    expect(stdout).toMatch(/SUCCEEDED[\s\S]*VMs +none running/);
    expect(stderr).toBe('');
    expect(await readdir(installed.workDirectory)).toEqual(['.dropforge']);
  });

  it('prints the help that its commands have, also rendered for the package', async () => {
    const help = await readFile(join(installed.directory, 'dist/help.txt'), 'utf8');
    expect((await installed.run(['--help'])).stdout).toBe(help);
    expect((await installed.run(['--help', '--format=text'])).stdout).toBe(help);
  });

  it('validates, and prints results as YAML', async () => {
    const example = join(installed.directory, 'examples/digits');
    await installed.run(['jobs', 'validate', join(example, 'job.yaml'), '--package', join(example, 'trainer')]);
    expect((await installed.run(['version', '--format=yaml'])).stdout).toContain('version: ');
  });

  it('writes the files of a deployment, updates them, and refuses to replace what the user has changed', async () => {
    const write = () => installed.run(['deploy', 'files', 'deployment']);
    expect((await write()).stdout).toContain('terraform -chdir=terraform apply');
    const directory = join(installed.workDirectory, 'deployment');
    const [api, agent] = ['api.zip', 'agent.pyz'].map((name) => join(directory, 'dist/functions', name));
    expect((await stat(api ?? '')).size).toBeGreaterThan(1e6);
    expect((await stat(agent ?? '')).size).toBeGreaterThan(1e5);
    const ignored = await readFile(join(directory, '.gitignore'), 'utf8');
    expect(ignored).toContain('*.tfstate*');
    // The recipe of the machine image copies files by their place beside it.
    for (const name of ['runtime.pkr.hcl', 'make-machine-image.sh', 'check-image.sh']) {
      const recipe = await readFile(join(directory, 'infra/machine-image', name), 'utf8');
      for (const [path] of recipe.matchAll(/\.\.\/[\w./-]+/g)) {
        expect((await stat(join(directory, 'infra/machine-image', path))).isFile()).toBe(true);
      }
    }
    const settings = join(directory, 'terraform/terraform.tfvars');
    await writeFile(settings, 'project_id = "mine"');
    expect((await write()).stdout).toContain('To update it');
    expect(await readFile(settings, 'utf8')).toBe('project_id = "mine"');
    await writeFile(join(directory, 'terraform/agent.tf'), '# mine');
    await expect(write()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('terraform/agent.tf') });
    expect(await readFile(join(directory, 'terraform/agent.tf'), 'utf8')).toBe('# mine');
  });

  it('writes and deletes no file outside of the folder of a deployment, wherever its list and its links lead', async () => {
    const [listed, linked] = ['listed', 'linked'].map((name) => join(installed.workDirectory, name)) as [
      string,
      string,
    ];
    const outside = join(installed.workDirectory, 'outside');
    await Promise.all([listed, linked, outside].map((path) => mkdir(path)));
    await writeFile(join(outside, 'mine.tf'), 'mine');
    const paths = ['../outside/mine.tf', 'terraform/../../outside/mine.tf', '..\\outside\\mine.tf'];
    const digest = createHash('sha256').update('mine').digest('hex');
    const list = { version: '0.0.1', files: Object.fromEntries(paths.map((path) => [path, digest])) };
    await writeFile(join(listed, 'dropforge-files.json'), JSON.stringify(list));
    await installed.run(['deploy', 'files', listed]);
    for (const [name, target] of [
      ['terraform', outside],
      ['examples', join(outside, 'missing')],
      ['dropforge-files.json', join(outside, 'list.json')],
    ] as const) {
      await symlink(target, join(linked, name));
      const written = installed.run(['deploy', 'files', linked]);
      await expect(written).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(`${linked} has`) });
      await rm(join(linked, name));
    }
    expect(await readdir(outside)).toEqual(['mine.tf']);
  });
});

describe('a tutorial, read in an empty home with the npm package', () => {
  it.concurrent.each(playable)('$name shows what its commands print', async (tutorial) => {
    expect(await playInShell(tutorial, { installed, tarball })).toBe(tutorial.text);
  });
});
