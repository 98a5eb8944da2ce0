import { execFileSync } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configure } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist, makeWheel } from '../support/agent/vm-agent-package.ts';

const { cloud, machine, ended } = startMachineForEachTest();

describe('installing', () => {
  const USES = 'import companion\nprint(companion.VALUE)\n';

  it('installs wheels without contacting an index', async () => {
    configure(cloud(), [await makeSdist(USES), makeWheel('companion', 'companion', "VALUE = 'from a wheel'\n")]);
    expect(await ended(machine().boot({ PIP_INDEX_URL: 'http://127.0.0.1:9/' }))).toMatchObject({ exitCode: 0 });
  });

  it('installs missing requirements from the configured index', async () => {
    const wheel = makeWheel('companion', 'companion', "VALUE = 'from the index'\n");
    cloud().intercept = ({ url }) => {
      if (!url.includes('/simple/')) {
        return undefined;
      }
      return url.endsWith('.whl')
        ? new Response(new Uint8Array(wheel.body))
        : new Response(`<a href="/simple/companion/${wheel.name}">${wheel.name}</a>`, {
            headers: { 'content-type': 'text/html' },
          });
    };
    configure(cloud(), [await makeSdist(USES, { requires: 'companion>=1\n' })]);
    const vm = machine().boot({ PIP_INDEX_URL: `${cloud().url}/simple/`, PIP_CONFIG_FILE: '/dev/null' });
    expect(await ended(vm)).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    expect(cloud().logEntries.some(({ textPayload }) => textPayload === 'from the index')).toBe(true);
  });

  it('can import the packages of the image, even if its Python is a virtual environment', async () => {
    const image = join(machine().home, '..', 'image');
    execFileSync('python3', ['-m', 'venv', '--without-pip', image]);
    const [library] = await readdir(join(image, 'lib'));
    await writeFile(join(image, 'lib', library ?? '', 'site-packages', 'companion.py'), "VALUE = 'of the image'\n");
    configure(cloud(), [await makeSdist(USES)]);
    const vm = machine().boot({
      PATH: `${join(machine().home, '..', 'bin')}:${join(image, 'bin')}:${process.env.PATH}`,
    });
    expect(await ended(vm)).toMatchObject({ reason: 'EXITED', exitCode: 0 });
    expect(cloud().logEntries.some(({ textPayload }) => textPayload === 'of the image')).toBe(true);
  });
});
