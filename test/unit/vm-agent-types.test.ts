import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PYRIGHT = fileURLToPath(import.meta.resolve('pyright/index.js'));

it('the Python code has no type error', { timeout: 300_000 }, async () => {
  expect(await findTypeErrors()).toMatch(/^0 errors, 0 warnings/m);
});

function findTypeErrors(): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PYRIGHT], { cwd: ROOT }, (_, stdout, stderr) => resolve(stdout + stderr));
  });
}
