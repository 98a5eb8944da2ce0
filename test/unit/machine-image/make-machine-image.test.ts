import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgsStringToArgv } from 'string-argv';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const FOLDER = join(import.meta.dirname, '../../../infra/machine-image');
const SCRIPT = join(FOLDER, 'make-machine-image.sh');
const HOOK = '../vm-agent/vm_agent/paths/hook.py';
const BASE = ['--project', 'my-project', '--zone', 'us-central1-a', '--build', 'v7'];

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'dropforge-make-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function make(args: readonly string[], path = process.env.PATH ?? '') {
  return spawnSync('/bin/bash', [SCRIPT, ...args], { encoding: 'utf8', env: { PATH: path, TMPDIR: root } });
}

/** The gcloud commands of a dry run, split into arguments. */
function commandsOf(stderr: string): readonly (readonly string[])[] {
  const lines = stderr.split('\n').filter((line) => line.startsWith('gcloud '));
  return lines.map((line) =>
    parseArgsStringToArgv(line.replaceAll(/\\(.)/g, (_, letter) => (letter === ' ' ? '_' : letter))),
  );
}

const verbsOf = (commands: readonly (readonly string[])[]) => commands.map((args) => args.slice(2, 5).join(' '));

/** A fake gcloud that records its arguments; its VMs shut themselves down, or report a finding. */
function pathWithGcloud(passesChecks: boolean): string {
  const status = passesChecks ? 'TERMINATED' : 'RUNNING';
  const output = passesChecks ? '' : 'The module pip is missing: no. \nDROPFORGE-CHECK failed: 1 found.';
  writeFileSync(
    join(root, 'gcloud'),
    `#!/bin/bash
printf '%s\\n' "$*" >>${root}/calls
for word; do [[ "$word" != *startup-script=* ]] || cp "\${word#*startup-script=}" ${root}/; done
case "$*" in *describe*) echo ${status} ;; *get-serial*) echo '${output}' ;; esac
`,
  );
  chmodSync(join(root, 'gcloud'), 0o755);
  return `${root}:${process.env.PATH}`;
}

const callsOf = () => readFileSync(join(root, 'calls'), 'utf8').trim().split('\n');

describe('a dry run', () => {
  it('prints the commands that create, test and delete resources, and the entry', () => {
    const { status, stdout, stderr } = make([...BASE, '--runtime', '2.20', '--dry-run']);
    expect(status, stderr).toBe(0);
    expect(verbsOf(commandsOf(stderr))).toEqual([
      'instances create dropforge-2-20-v7-source',
      'instances remove-metadata dropforge-2-20-v7-source',
      'machine-images create dropforge-2-20-v7-a',
      'instances create dropforge-2-20-v7-check',
      'instances delete dropforge-2-20-v7-check',
      'machine-images create dropforge-2-20-v7-b',
      'instances delete dropforge-2-20-v7-source',
    ]);
    const images = 'machine_images = ["dropforge-2-20-v7-a", "dropforge-2-20-v7-b"], image = "dropforge-2-20-v7"';
    expect(stdout).toBe(`"2.20" = { ${images}, python_version = "3.12" }\n`);
  });

  it('waits 10 minutes between machine images of one VM', () => {
    const { stderr } = make([...BASE, '--runtime', '2.20', '--copies', '4', '--dry-run']);
    expect(stderr.match(/waiting 600 s/g)).toHaveLength(3);
  });

  it('sets the project in every command, and disables prompts', () => {
    const commands = commandsOf(make([...BASE, '--runtime', 'pytorch-2.9', '--dry-run']).stderr);
    expect(commands.length).toBeGreaterThan(5);
    expect(commands.filter((args) => !args.includes('--project=my-project') || !args.includes('--quiet'))).toEqual([]);
  });

  it('creates VMs with labels, without service account and public address', () => {
    const commands = commandsOf(make([...BASE, '--runtime', '2.20', '--dry-run']).stderr);
    const created = commands.filter(([, , kind, verb]) => kind === 'instances' && verb === 'create');
    expect(created).toHaveLength(2);
    for (const args of created) {
      expect(args).toEqual(
        expect.arrayContaining([
          '--no-service-account',
          '--no-scopes',
          '--network-interface=network=default,no-address',
        ]),
      );
      expect(args.find((word) => word.startsWith('--labels='))).toContain('managed-by=dropforge');
    }
  });

  it('only tests the custom image of a runtime without machine images', () => {
    const { stdout, stderr } = make([...BASE, '--runtime', 'pytorch-2.9-cu128', '--dry-run']);
    expect(verbsOf(commandsOf(stderr))).toEqual([
      'instances create dropforge-pytorch-2-9-cu128-v7-check',
      'instances delete dropforge-pytorch-2-9-cu128-v7-check',
    ]);
    expect(stdout).toContain('machine_images = [], image = "dropforge-pytorch-2-9-cu128-v7"');
  });

  it('cleans a copy of the given VM, and deletes the image that contains secrets', () => {
    const { stderr } = make([...BASE, '--name', 'Vision_1', '--from', 'my-vm', '--copies', '1', '--dry-run']);
    const verbs = verbsOf(commandsOf(stderr));
    expect(verbs[0]).toBe('images create dropforge-vision-1-v7-raw');
    expect(verbs.at(-1)).toBe('images delete dropforge-vision-1-v7-raw');
    expect(verbs.indexOf('images create dropforge-vision-1-v7')).toBeGreaterThan(
      verbs.indexOf('instances remove-metadata dropforge-vision-1-v7-source'),
    );
  });

  it('prints no secrets and calls nothing', () => {
    const path = pathWithGcloud(true);
    const { stdout, stderr } = make([...BASE, '--runtime', '2.20', '--dry-run'], path);
    expect(stdout + stderr).not.toMatch(/token|password|key=(?!TRUE)|PRIVATE|ya29/i);
    expect(() => callsOf()).toThrow('ENOENT');
  });

  it.each([
    [['--runtime', '9.9'], 'runtime 9.9 does not exist'],
    [[], 'No source'],
    [['--runtime', '2.20', '--name', 'x', '--from', 'y'], 'cannot be combined'],
    [['--runtime', '2.20', '--build', 'V;rm'], '--build is missing or invalid'],
    [['--runtime', '2.20', '--copies', '21'], '--copies is missing or invalid'],
    [['--runtime'], '--runtime needs a value'],
    [['--runtime', '2.20', '--colour', 'red'], 'Usage:'],
  ])('rejects %j', (args, message) => {
    const { status, stdout, stderr } = make([...BASE, '--dry-run', ...args]);
    expect(status).not.toBe(0);
    expect(stderr).toContain(message);
    expect(stdout).toBe('');
  });
});

describe('a run', () => {
  const quick = [...BASE, '--runtime', '2.20', '--copy-wait-seconds', '0', '--poll-seconds', '0'];

  it('runs the commands of the dry run, and leaves no VM', () => {
    const planned = verbsOf(commandsOf(make([...quick, '--dry-run']).stderr));
    const { status, stderr } = make(quick, pathWithGcloud(true));
    expect(status, stderr).toBe(0);
    const done = callsOf().map((call) => call.split(' ').slice(1, 4).join(' '));
    expect(done.filter((call) => !call.startsWith('instances describe'))).toEqual(planned);
  });

  it('stops at a failed check: prints the reason, deletes the VM, creates no image and prints no entry', () => {
    const { status, stdout, stderr } = make(quick, pathWithGcloud(false));
    expect(status).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toContain('dropforge-2-20-v7-source failed its checks.');
    const calls = callsOf();
    expect(calls.filter((call) => call.includes('machine-images create'))).toEqual([]);
    expect(calls.at(-1)).toContain('instances delete dropforge-2-20-v7-source');
  });

  it('passes startup scripts with embedded files that fit into metadata', () => {
    make(quick, pathWithGcloud(true));
    for (const name of ['seal.sh', 'check.sh']) {
      const text = readFileSync(join(root, name), 'utf8');
      expect(text.length).toBeLessThan(256 * 1024);
      expect(spawnSync('bash', ['-n', join(root, name)]).status).toBe(0);
      const embedded = [...text.matchAll(/<<END\n([\s\S]*?)\nEND\n/g)].map(([, part]) =>
        Buffer.from(part ?? '', 'base64'),
      );
      expect(embedded[1]?.toString()).toBe(readFileSync(join(FOLDER, 'check-image.sh'), 'utf8'));
      expect(embedded[2]?.toString()).toBe(readFileSync(join(FOLDER, 'try_files.py'), 'utf8'));
      expect(embedded[3]?.toString()).toBe(readFileSync(join(FOLDER, HOOK), 'utf8'));
      expect(JSON.parse(embedded[4]?.toString() ?? '')).toMatchObject({ name: '2.20', pythonVersion: '3.12' });
    }
  });
});

describe('the scripts and the template', () => {
  it.each(['provision.sh', 'check-image.sh', 'make-machine-image.sh'])('%s stops at the first error', (name) => {
    expect(spawnSync('bash', ['-n', join(FOLDER, name)], { encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: '',
    });
    expect(readFileSync(join(FOLDER, name), 'utf8')).toContain('\nset -euo pipefail\n');
  });

  const template = readFileSync(join(FOLDER, 'runtime.pkr.hcl'), 'utf8');

  it('the template is formatted and well-formed', () => {
    const input = template;
    const { error, status, stdout } = spawnSync('terraform', ['fmt', '-check', '-'], { encoding: 'utf8', input });
    // Without Terraform, only braces are checked.
    expect(error === undefined ? `${status}${stdout}` : '0').toBe('0');
    const marks = template.replaceAll(/"(\\.|[^"\\])*"|#.*$/gm, '');
    expect([...marks].filter((mark) => mark === '{').length).toBe([...marks].filter((mark) => mark === '}').length);
  });

  it('the template describes and uses each variable', () => {
    const variables = [...template.matchAll(/^variable "(\w+)" \{\n([\s\S]*?)^\}/gm)];
    expect(variables.length).toBeGreaterThan(5);
    expect(
      variables.filter(([, , body = '']) => !/^ {2}description = ".{20,}"$/m.test(body)).map(([, name]) => name),
    ).toEqual([]);
    expect(variables.filter(([whole, name]) => !template.replace(whole, '').includes(`var.${name}`))).toEqual([]);
  });

  it('the template builds under skipDefaultNetworkCreation, vmExternalIpAccess, requireOsLogin and resourceLocations', () => {
    for (const [argument, value] of [
      ['subnetwork', 'var.subnetwork'],
      ['omit_external_ip', '!var.has_public_ip'],
      ['use_iap', '!var.has_public_ip'],
      ['use_os_login', 'var.use_os_login'],
      ['image_storage_locations', 'var.storage_location == null ? null : [var.storage_location]'],
    ] as const) {
      expect(template.replaceAll(/ +/g, ' ')).toContain(`${argument} = ${value}\n`);
    }
    expect(template).toMatch(/variable "has_public_ip" \{[^}]*default += false/);
  });

  it('the template uses only existing files', () => {
    const files = [...template.matchAll(/\$\{path\.root\}\/([\w./-]+)|file\("([\w.-]+)"\)/g)].map(
      ([, a, b]) => a ?? b ?? '',
    );
    expect(files).toEqual(expect.arrayContaining(['provision.sh', 'try_files.py', HOOK]));
    expect(() => files.map((name) => readFileSync(join(FOLDER, name)))).not.toThrow();
  });

  it('the template creates the image after the clean-up is checked', () => {
    const inlines = [...template.matchAll(/provision\.sh (\w+)|check-image\.sh (--unbooted)/g)].map(
      ([, a, b]) => a ?? b,
    );
    expect(inlines).toEqual(['install', 'verify', 'preload', 'clean', '--unbooted']);
  });
});
