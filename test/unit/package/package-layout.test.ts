import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { decideLayout } from '#shared/package/metadata/package-layout.ts';

const path = new URL('../../../shared/protocol/golden/package-layouts.json', import.meta.url);

/** Read by infra/vm-agent/tests/test_protocol.py, too. */
const cases = z
  .array(
    z.strictObject({
      what: z.string(),
      archive: z.string(),
      module: z.string(),
      files: z.record(z.string(), z.string()),
      layout: z.record(z.string(), z.unknown()),
    }),
  )
  .parse(JSON.parse(readFileSync(path, 'utf8')));

describe('the layout of a package', () => {
  it.each(cases)('$what', ({ archive, module, files, layout }) => {
    const tree = {
      name: archive,
      paths: new Set(Object.keys(files)),
      readText: (name: string) => files[name] ?? null,
    };
    expect(decideLayout(tree, module)).toEqual(layout);
  });
});
