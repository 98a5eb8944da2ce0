import { createContext, runInContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { deferRequires } from '#infra/tools/bundle-functions/defer-requires.ts';

/** Runs a rewritten module. Returns its exports, and the modules that were loaded so far. */
async function run(lines: readonly string[]) {
  const loaded: string[] = [];
  const require = (name: string) => {
    loaded.push(name);
    return { member: name, Class: class {} };
  };
  const context = createContext({ exports: {} as Record<string, unknown>, require });
  runInContext(await deferRequires(lines.join('\n')), context);
  return { exports: context.exports as Record<string, (value?: number) => unknown>, loaded };
}

describe('a deferred import', () => {
  it('is loaded on first use, once', async () => {
    const { exports, loaded } = await run([
      'const used_1 = require("./used");',
      'const fs = require("fs");',
      'exports.read = () => [used_1.member, (0, used_1.member), new used_1.Class()];',
      'exports.readFile = () => ({ fs }).fs.member;',
    ]);
    expect(loaded).toEqual([]);
    expect(exports.read?.()).toMatchObject(['./used', './used', {}]);
    expect(exports.readFile?.()).toBe('fs');
    expect(loaded).toEqual(['./used', 'fs']);
  });

  it('leaves strings, members and variables of the same name as they are', async () => {
    const { exports, loaded } = await run([
      'const gax = require("gax");',
      'exports.shadow = (gax) => gax + 1;',
      'exports.text = () => "gax" + ({ gax: 1 }).gax;',
    ]);
    expect([exports.shadow?.(1), exports.text?.()]).toEqual([2, 'gax1']);
    expect(loaded).toEqual([]);
  });

  it.each([
    ['through a variable', ['const v1 = require("./v1");', 'exports.v1 = v1;', 'exports.use = () => v1.member;']],
    ['at once', ['exports.v1 = require("./v1");']],
  ])('that is exported %s is loaded when it is read', async (_, lines) => {
    const { exports, loaded } = await run(lines);
    expect(loaded).toEqual([]);
    expect(exports.v1).toMatchObject({ member: './v1' });
  });

  it.each(['import { member } from "./module";', 'const { member } = require("./module");'])(
    'of an unknown form fails the build: %s',
    async (line) => {
      await expect(deferRequires(line)).rejects.toThrow(`"${line}" is an import of a form that is not deferred.`);
    },
  );
});
