import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { accepts, INSTALLING_NODE, type PackageLock, withoutUnmetEngines } from './package-engines.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const manifest = JSON.parse(read('package.json'));
const lock: PackageLock = JSON.parse(read('package-lock.json'));

describe('the versions of Node.js', () => {
  it.each([
    ['>=18', '20.0.0', true],
    ['>= 20.0.1', '20.0.0', false],
    ['^20.19.0 || >=22.12.0', '20.18.0', false],
    ['^20.19.0 || >=22.12.0', '20.19.1', true],
    ['>=20.19.0 <22.0.0 || >=22.12.0', '22.3.0', false],
    ['>=20 <=24', '24.21.0', true],
    ['6.* || 8.* || >= 10.*', '7.1.0', false],
    ['6.* || 8.* || >= 10.*', '8.1.0', true],
    ['~22.1', '22.2.0', false],
    ['>20', '20.5.0', false],
    ['*', '1.0.0', true],
    [undefined, '1.0.0', true],
  ])('%s, version %s: %s', (range, version, isAccepted) => {
    expect(accepts(range, version)).toBe(isAccepted);
  });

  it('cause no warning of `npm ci`; otherwise run `npx node test/repository/write-package-lock.ts`', () => {
    expect(manifest.engines.node).toBe(`>=${INSTALLING_NODE.split('.')[0]}`);
    expect(lock).toEqual(withoutUnmetEngines(lock));
  });

  it('of every installed package include that of the project', () => {
    const { version } = JSON.parse(read('node_modules/node/package.json'));
    expect(read('.nvmrc').trim()).toBe(version.split('.')[0]);
    const installed = Object.keys(lock.packages).filter(
      (path) => path !== '' && existsSync(new URL(`../../${path}/package.json`, import.meta.url)),
    );
    expect(installed.length).toBeGreaterThan(100);
    const others = installed.filter(
      (path) => !accepts(JSON.parse(read(`${path}/package.json`)).engines?.node, version),
    );
    expect(others).toEqual([]);
  });
});
