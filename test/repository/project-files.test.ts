import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readRepository } from './repository-files.ts';

const files = new Map(readRepository().map(({ path, text }) => [path, text]));
const read = (path: string) => files.get(path) ?? '';

type Step = { readonly uses?: string; readonly run?: string; readonly with?: Readonly<Record<string, unknown>> };
type Manager = { readonly managerFilePatterns: readonly string[]; readonly matchStrings: readonly string[] };
type Field = { readonly id?: string; readonly validations?: { readonly required: boolean } };

describe('the workflow of CI', () => {
  const text = read('.github/workflows/ci.yml');
  const steps: readonly Step[] = parse(text).jobs.test.steps;

  it('runs .ci/run at its end, and may only read', () => {
    expect(steps.at(-1)).toEqual({ run: '.ci/run' });
    expect(parse(text).permissions).toEqual({ contents: 'read' });
  });

  it('installs every tool without which tests are left out', () => {
    const actions = steps.flatMap(({ uses = '' }) => uses.replace(/@.*/, ''));
    expect(actions).toEqual(
      expect.arrayContaining([
        ...['actions/setup-node', 'actions/setup-python', 'actions/setup-java'],
        ...['hashicorp/setup-terraform', 'google-github-actions/setup-gcloud'],
      ]),
    );
    const shell = steps.map(({ run = '' }) => run).join('\n');
    for (const name of ['docker-registry', 'apache2-utils', 'busybox', 'shellcheck']) {
      expect(shell).toContain(name);
    }
    expect(text).toContain('install_components: cloud-firestore-emulator,pubsub-emulator');
  });

  it('has every Python from the oldest that the agent supports', () => {
    const { with: options } = steps.find(({ uses = '' }) => uses.startsWith('actions/setup-python')) ?? {};
    const versions = String(options?.['python-version']).trim().split('\n').sort();
    expect(versions).toEqual(['3.10', '3.11', '3.12', '3.13', JSON.parse(read('pyrightconfig.json')).pythonVersion]);
  });
});

describe('the configuration of Renovate', () => {
  const managers: readonly Manager[] = JSON.parse(read('.github/renovate.json')).customManagers;

  /** The versions that the patterns for a file find there. */
  function findVersions(path: string): readonly string[] {
    const patterns = managers
      .filter(({ managerFilePatterns }) => managerFilePatterns.includes(path))
      .flatMap(({ matchStrings }) => matchStrings);
    return patterns.flatMap((pattern) =>
      [...read(path).matchAll(new RegExp(pattern, 'g'))].map(({ groups }) => groups?.['currentValue'] ?? ''),
    );
  }

  it('finds every version in the image recipe', () => {
    const path = 'infra/machine-image/provision.sh';
    const pins = [...read(path).matchAll(/^[A-Z_]+=\D*(\d+\.\d+\.\d+)$/gm)].map(([, version]) => version);
    expect(pins).toHaveLength(5);
    expect(findVersions(path)).toEqual(pins);
  });

  it('finds every package of the runtimes, without the name of its build', () => {
    const path = 'infra/machine-image/runtimes.json';
    const packages = [...read(path).matchAll(/^ +"[^"]+==([^"+]+)[^"]*",?$/gm)].map(([, version]) => version);
    expect(packages.length).toBeGreaterThan(20);
    expect(findVersions(path).filter((version) => packages.includes(version))).toHaveLength(
      read(path).match(/[a-z\]]==\d/g)?.length ?? 0,
    );
  });

  it('finds the plugin of Packer, and the Terraform of CI', () => {
    expect(findVersions('infra/machine-image/runtime.pkr.hcl')).toEqual(['>= 1.1.0, < 2.0.0']);
    expect(findVersions('.github/workflows/ci.yml')).toEqual([expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
  });

  it('names files that exist', () => {
    const named = managers.flatMap(({ managerFilePatterns }) => managerFilePatterns);
    expect(named.filter((path) => !files.has(path))).toEqual([]);
  });
});

it('the issue about a job requires its report, job file and versions', () => {
  const fields: readonly Field[] = parse(read('.github/ISSUE_TEMPLATE/job.yml')).body;
  const required = fields.filter(({ validations }) => validations?.required === true).map(({ id }) => id);
  expect(required).toEqual(expect.arrayContaining(['report', 'job-file', 'versions']));
});
