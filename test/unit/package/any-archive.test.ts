import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { followLink } from '#shared/package/archive/archive-checks.ts';
import { createArchiveListing } from '#shared/package/archive/archive-listing.ts';
import { readEntryPath } from '#shared/package/archive/entry-path.ts';
import { createFindings } from '#shared/package/archive/package-problem.ts';
import { readTarArchive } from '#shared/package/archive/tar-archive.ts';
import { inspectPackage } from '#shared/package/inspect-package.ts';
import { readSetupArguments } from '#shared/package/metadata/setup-script.ts';
import { sourceOf, TRAINER, tarGzOf, tarOf, wheelOf, zipOf } from '../../support/package/build-archives.ts';

const names = fc.constantFrom('a', 'b', 'c', '.', '..', '', 'C:', 'x\\y', '\u0000', 'é');
const paths = fc.array(names, { maxLength: 6 }).map((parts) => parts.join('/'));

describe('paths and links (property)', () => {
  it('accepts no path outside the directory where it is unpacked', () => {
    fc.assert(
      fc.property(fc.oneof(paths, fc.string({ unit: 'binary' })), (raw) => {
        const reading = readEntryPath(raw);
        fc.pre(reading.problem === undefined);
        const place = posix.resolve('/root/place', reading.path ?? '');
        expect(place === '/root/place' || place.startsWith('/root/place/')).toBe(true);
        expect(place).toBe(posix.resolve('/root/place', raw));
      }),
    );
  });

  it('resolves links like an operating system', () => {
    const targets = fc.array(fc.constantFrom('a', 'b', 'c', '..', '.'), { minLength: 1, maxLength: 5 });
    const linkPaths = fc.constantFrom('a', 'b', 'c', 'a/b', 'b/a', 'b/c');
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            linkPaths,
            targets.map((parts) => parts.join('/')),
          ),
          { maxLength: 4 },
        ),
        (pairs) => {
          const links = new Map(pairs);
          for (const path of links.keys()) {
            const end = followLink(path, links, '');
            const place = resolveByRewriting(path, links);
            expect(end).toBe(place === null ? 'LOOP' : place.startsWith('..') ? 'OUTSIDE' : 'INSIDE');
          }
        },
      ),
    );
  });
});

/** Reference implementation: replaces the first link of a path until none is left. */
function resolveByRewriting(path: string, links: ReadonlyMap<string, string>): string | null {
  let parts = path.split('/').filter((part) => part !== '.');
  for (let hops = 0; hops <= 40; ) {
    const step = parts.findIndex((part, index) => part === '..' || links.has(parts.slice(0, index + 1).join('/')));
    if (step < 0) {
      return parts.join('/');
    }
    if (parts[step] === '..') {
      if (step === 0) {
        return '..';
      }
      parts = [...parts.slice(0, step - 1), ...parts.slice(step + 1)];
    } else {
      const target = (links.get(parts.slice(0, step + 1).join('/')) ?? '').split('/').filter((part) => part !== '.');
      parts = [...parts.slice(0, step), ...target, ...parts.slice(step + 1)];
      hops += 1;
    }
  }
  return null;
}

describe('archives (property)', () => {
  const safeName = fc.stringMatching(/^[a-z]{1,8}$/);
  const files = fc.uniqueArray(
    fc.record({
      path: fc.array(safeName, { minLength: 1, maxLength: 4 }).map((parts) => `${parts.join('/')}.txt`),
      data: fc.uint8Array({ maxLength: 2_000 }),
    }),
    { maxLength: 20, selector: ({ path }) => path },
  );

  it('lists exactly the packed files', async () => {
    await fc.assert(
      fc.asyncProperty(files, fc.boolean(), async (entries, isCompressed) => {
        const findings = createFindings();
        const listing = createArchiveListing(findings);
        const bytes = isCompressed ? tarGzOf(entries) : tarOf(entries);
        await readTarArchive({ source: sourceOf('t', bytes), isCompressed, listing });
        expect([...listing.contents.kinds.keys()]).toEqual(entries.map(({ path }) => path));
        expect(listing.contents.uncompressedBytes).toBe(entries.reduce((sum, { data }) => sum + data.length, 0));
        const zip = await inspectPackage(sourceOf('t.zip', zipOf([{ path: 'setup.py' }, ...entries])));
        expect(zip).toMatchObject({ entryCount: entries.length + 1, problems: [] });
      }),
      { numRuns: 50 },
    );
  });

  const noise = Buffer.from(Array.from({ length: 3_000 }, (_, index) => (index * index * 31) % 253));
  const whole = [...TRAINER, { path: 'trainer-1.0/noise.bin', data: noise }];
  const originals: readonly (readonly [string, Buffer])[] = [
    ['t.tar.gz', tarGzOf(whole)],
    ['t.tar', tarOf(whole)],
    ['t.zip', zipOf(whole)],
    ['t64.zip', zipOf(whole, { isZip64: true })],
    ['trainer-1.0-py3-none-any.whl', wheelOf()],
  ];

  it.each(originals)('reports every modified or truncated %s without an exception', async (name, original) => {
    const change = fc.tuple(fc.nat(original.length - 1), fc.integer({ min: 0, max: 255 }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { minLength: 1, maxLength: 4 }),
        fc.option(fc.nat(original.length), { freq: 1 }),
        async (changes, cutAt) => {
          const bytes = Buffer.from(original);
          for (const [index, value] of changes) {
            bytes[index] = value;
          }
          const { problems } = await inspectPackage(sourceOf(name, bytes.subarray(0, cutAt ?? bytes.length)));
          expect(problems.every(({ code, message, remedy }) => code !== '' && message !== '' && remedy !== '')).toBe(
            true,
          );
        },
      ),
      { numRuns: 200 },
    );
  });

  it.each(originals)('rejects the first half of %s', async (name, original) => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: Math.floor(original.length / 2) }), async (cutAt) => {
        expect((await inspectPackage(sourceOf(name, original.subarray(0, cutAt)))).problems).not.toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  it('parses setup arguments of any script without an exception', () => {
    const pieces = fc.constantFrom(
      'setup',
      '(',
      ')',
      '[',
      ']',
      '{',
      '}',
      "'",
      '"',
      '"""',
      "'''",
      '\\',
      '#',
      '\n',
      ',',
      ':',
      '=',
      'name',
      ' ',
      'f',
    );
    const scripts = fc.array(pieces, { maxLength: 60 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(scripts, (script) => {
        expect(readSetupArguments(script)).toBeInstanceOf(Map);
      }),
    );
  });
});

describe('archives created by other tools', () => {
  it('reads all formats that Python creates', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'dropforge-package-'));
    try {
      writeFileSync(join(directory, 'pack.py'), PACK_WITH_PYTHON);
      execFileSync('python3', ['pack.py'], { cwd: directory, env: { ...process.env, PYTHONUTF8: '1' } });
      for (const name of ['pax.tar.gz', 'gnu.tar.gz', 'ustar.tar', 'deflated.zip', 'streamed.zip']) {
        const bytes = readFileSync(join(directory, name));
        const report = await inspectPackage(sourceOf(name, bytes), { module: 'trainer.task' });
        expect(report).toMatchObject({ problems: [], name: 'trainer', pythonModules: ['trainer.task'] });
      }
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

const PACK_WITH_PYTHON = `
import io, os, tarfile, zipfile
os.makedirs('trainer-1.0/trainer')
files = {'setup.py': "setup(name='trainer')", 'trainer/__init__.py': '', 'trainer/task.py': 'print(1)', 'é' + 'long' * 40: 'x'}
for path, text in files.items():
    open('trainer-1.0/' + path, 'w').write(text)
for name, mode, form in [('pax.tar.gz', 'w:gz', tarfile.PAX_FORMAT), ('gnu.tar.gz', 'w:gz', tarfile.GNU_FORMAT)]:
    with tarfile.open(name, mode, format=form) as archive:
        archive.add('trainer-1.0')
with tarfile.open('ustar.tar', 'w', format=tarfile.USTAR_FORMAT) as archive:
    for path in ['setup.py', 'trainer']:
        archive.add('trainer-1.0/' + path)
with zipfile.ZipFile('deflated.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
    for path in files:
        archive.write('trainer-1.0/' + path)
class Pipe(io.RawIOBase):
    def __init__(self, file): self.file = file
    def writable(self): return True
    def write(self, data): return self.file.write(data)
with open('streamed.zip', 'wb') as file, zipfile.ZipFile(Pipe(file), 'w', zipfile.ZIP_DEFLATED) as archive:
    for path, text in files.items():
        archive.writestr('trainer-1.0/' + path, text)
`;
