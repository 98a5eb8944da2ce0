import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { PACKAGE_LIMITS } from '#shared/package/archive/package-limits.ts';
import type { PackageSource } from '#shared/package/archive/package-source.ts';
import { inspectPackage } from '#shared/package/inspect-package.ts';
import { sourceOf, TRAINER, tarGzOf, tarOf, wheelOf, zipOf } from '../../support/package/build-archives.ts';

const MODULE = { module: 'trainer.task' };

async function codesOf(source: PackageSource): Promise<string[]> {
  return (await inspectPackage(source)).problems.map(({ code }) => code);
}

describe('inspecting a package', () => {
  const trainer = {
    name: 'trainer',
    version: '1.0',
    problems: [],
    warnings: [],
    pythonModules: ['trainer.task'],
  };
  const flat = TRAINER.map(({ path, data }) => ({ path: path.replace('trainer-1.0/', ''), data }));

  it.each([
    ['tar.gz', 'trainer-1.0.tar.gz', tarGzOf(TRAINER)],
    ['tar.gz', 'trainer-1.0.tgz', tarGzOf(TRAINER)],
    ['tar', 'trainer-1.0.tar', tarOf(TRAINER)],
    ['zip', 'trainer-1.0.zip', zipOf(TRAINER)],
    ['zip', 'zip64.zip', zipOf(TRAINER, { isZip64: true })],
    ['zip', 'flat.zip', zipOf(flat)],
    ['tar.gz', 'flat.tar.gz', tarGzOf(flat.map(({ path, data }) => ({ path: `./${path}`, data })))],
  ])('reads a %s named %s', async (format, name, bytes) => {
    expect(await inspectPackage(sourceOf(name, bytes), MODULE)).toMatchObject({ ...trainer, format, entryCount: 3 });
  });

  it('reads a wheel with its metadata and tags', async () => {
    const report = await inspectPackage(sourceOf('trainer-1.0-py3-none-any.whl', wheelOf()), MODULE);
    expect(report).toMatchObject({
      ...trainer,
      format: 'whl',
      requiresPython: '>=3.9',
      requirements: ['numpy>=1.20'],
      wheelTags: ['py3-none-any'],
    });
  });

  it('reads a single file as a package', async () => {
    const report = await inspectPackage(sourceOf('train.py', Buffer.from('import torch\n# Größe\n')), {
      module: 'train',
    });
    expect(report).toMatchObject({ format: 'py', problems: [], warnings: [], pythonModules: ['train'], entryCount: 1 });
    expect([...report.evidence.imports]).toEqual(['torch']);
    const other = await inspectPackage(sourceOf('train.py', Buffer.from('1')), { module: 'trian.py' });
    expect(other.problems).toMatchObject([{ code: 'MODULE_NOT_FOUND', message: expect.stringContaining('train.py') }]);
  });

  it('reads a requirements file as a package', async () => {
    const report = await inspectPackage(sourceOf('requirements.txt', Buffer.from('torch==2.2.0+cpu\n')));
    expect(report).toMatchObject({ format: 'txt', problems: [], warnings: [] });
    expect(report.evidence.requirementFiles).toEqual([{ path: 'requirements.txt', text: 'torch==2.2.0+cpu\n' }]);
  });

  it('returns only job files of the root, in order of preference', async () => {
    const files = [
      { path: 'trainer-1.0/config.yaml', data: 'a: 1' },
      { path: 'trainer-1.0/job.json', data: '{}' },
      { path: 'trainer-1.0/job.yaml', data: '\uFEFFb: 2' },
      { path: 'trainer-1.0/trainer/job.yml', data: 'c: 3' },
    ];
    const { jobFiles } = await inspectPackage(sourceOf('t.tar.gz', tarGzOf([...TRAINER, ...files])));
    expect(jobFiles).toEqual([
      { path: 'trainer-1.0/job.yaml', text: 'b: 2' },
      { path: 'trainer-1.0/job.json', text: '{}' },
      { path: 'trainer-1.0/config.yaml', text: 'a: 1' },
    ]);
  });

  it('ignores a job file in a subdirectory of a flat archive', async () => {
    const bytes = zipOf([...flat, { path: 'trainer/job.yaml', data: 'a: 1' }]);
    expect((await inspectPackage(sourceOf('t.zip', bytes))).jobFiles).toEqual([]);
  });
});

describe('files that are not packages', () => {
  it.each([
    ['NOT_AN_ARCHIVE', 'web page', 't.tar.gz', Buffer.from('<!DOCTYPE html><html><body>Sign in</body></html>')],
    ['NOT_AN_ARCHIVE', 'text file', 't.tar.gz', Buffer.from('trainingInput:\n  region: us-central1\n')],
    [
      'NOT_AN_ARCHIVE',
      'not an archive in a supported format',
      't.tar.gz',
      Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]),
    ],
    ['NOT_AN_ARCHIVE', 'not a tar archive', 't.tar.gz', gzipSync('x'.repeat(2_000))],
    ['ARCHIVE_EMPTY', 'is empty', 't.tar.gz', Buffer.alloc(0)],
    ['ARCHIVE_EMPTY', 'no entries', 't.tar.gz', tarGzOf([])],
    ['ARCHIVE_EMPTY', 'without entries', 't.tar', tarOf([])],
    ['ARCHIVE_EMPTY', 'without entries', 't.zip', zipOf([])],
    ['FORMAT_UNSUPPORTED', 'bzip2', 't.tar.bz2', Buffer.from('BZh91AY&SY')],
    ['FORMAT_UNSUPPORTED', 'xz', 't.tar.xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0])],
  ])('reports %s: %s', async (...[code, phrase, name, bytes]) => {
    const { problems } = await inspectPackage(sourceOf(name, bytes));
    expect(problems).toEqual([expect.objectContaining({ code, message: expect.stringContaining(phrase) })]);
  });

  it.each([
    ['t.tar.gz', zipOf(TRAINER)],
    ['t.tar.gz', tarOf(TRAINER)],
    ['t.zip', tarGzOf(TRAINER)],
    ['package', tarGzOf(TRAINER)],
  ])('reports that the name of %s does not match its format, because pip would fail', async (name, bytes) => {
    expect(await codesOf(sourceOf(name, bytes))).toEqual(['FORMAT_NAME_MISMATCH']);
  });

  it('tells where the project is that is not at the root', async () => {
    const deeper = TRAINER.map(({ path, data }) => ({ path: `a/${path}`, data }));
    const { problems } = await inspectPackage(sourceOf('t.tar.gz', tarGzOf(deeper)), MODULE);
    expect(problems).toMatchObject([
      { code: 'MODULE_NOT_FOUND', message: expect.stringContaining('a/trainer-1.0/setup.py') },
    ]);
  });

  it('rejects an archive without Python files', async () => {
    const { problems } = await inspectPackage(sourceOf('t.tar.gz', tarGzOf([{ path: 'data/train.csv', data: '1' }])));
    expect(problems).toMatchObject([{ code: 'NOT_INSTALLABLE', message: 'The package contains no Python files.' }]);
  });

  it('explains what to do with notebooks: in an archive, as the page packs one that is dropped, and alone', async () => {
    const packed = sourceOf('t.tar.gz', tarGzOf([{ path: 'train.ipynb', data: '{}' }]));
    for (const source of [packed, sourceOf('train.ipynb', Buffer.from('{"cells": []}'))]) {
      const { problems } = await inspectPackage(source);
      expect(problems).toMatchObject([{ code: 'NOTEBOOK', remedy: expect.stringContaining('jupyter nbconvert') }]);
    }
  });
});

describe('limits', () => {
  it('rejects a too large upload before reading it', async () => {
    const source: PackageSource = {
      ...sourceOf('t.tar.gz', Buffer.alloc(0)),
      sizeBytes: PACKAGE_LIMITS.compressedBytesMax + 1,
      open: () => Promise.reject(new Error('It was read.')),
      readRange: () => Promise.reject(new Error('It was read.')),
    };
    expect(await codesOf(source)).toEqual(['ARCHIVE_TOO_LARGE']);
  });

  it.each([
    ['tar.gz', () => tarGzOf([{ path: 'zeros', data: Buffer.alloc(PACKAGE_LIMITS.compressionRatioCountsFromBytes) }])],
    ['zip', () => zipOf([{ path: 'zeros', data: Buffer.alloc(PACKAGE_LIMITS.compressionRatioCountsFromBytes + 1) }])],
  ])('rejects a decompression bomb in a %s', async (ending, build) => {
    expect(await codesOf(sourceOf(`t.${ending}`, build()))).toEqual(['ARCHIVE_BOMB']);
  });

  it('accepts any compression ratio of a small package', async () => {
    const bytes = tarGzOf([...TRAINER, { path: 'trainer-1.0/zeros', data: Buffer.alloc(8_000_000) }]);
    expect(8_000_000 / bytes.length).toBeGreaterThan(PACKAGE_LIMITS.compressionRatioMax);
    expect(await codesOf(sourceOf('t.tar.gz', bytes))).toEqual([]);
  });

  it('rejects a file by the size stated in its header', async () => {
    const huge = { path: 'huge', sizeBytes: PACKAGE_LIMITS.entryBytesMax + 1 };
    expect(await codesOf(sourceOf('t.tar', tarOf([huge])))).toEqual(['ENTRY_TOO_LARGE']);
  });

  it('rejects more entries than the limit', async () => {
    const entries = Array.from({ length: PACKAGE_LIMITS.entryCountMax + 1 }, (_, index) => ({
      path: `f${index}`,
      method: 0,
    }));
    expect(await codesOf(sourceOf('t.zip', zipOf(entries, { isZip64: true })))).toEqual(['ENTRY_COUNT_EXCEEDED']);
    expect(await codesOf(sourceOf('t.tar.gz', tarGzOf(entries)))).toEqual(['ENTRY_COUNT_EXCEEDED']);
  });

  it('rejects a job file that exceeds the size limit', async () => {
    const large = { path: 'trainer-1.0/job.yaml', data: 'x'.repeat(PACKAGE_LIMITS.textBytesMax + 1) };
    expect(await codesOf(sourceOf('t.tar.gz', tarGzOf([...TRAINER, large])))).toEqual(['TEXT_TOO_LARGE']);
  });

  it('does not open inner archives, and warns about them', async () => {
    const inner = { path: 'trainer-1.0/vendor/bomb.zip', data: 'not even a zip' };
    const { problems, warnings } = await inspectPackage(sourceOf('t.tar.gz', tarGzOf([...TRAINER, inner])));
    expect({ problems, warnings: warnings.map(({ code }) => code) }).toEqual({
      problems: [],
      warnings: ['INNER_ARCHIVES'],
    });
  });

  it('collects a limited number of problems', async () => {
    const bad = Array.from({ length: 30 }, (_, index) => ({ path: `../${index}` }));
    const codes = await codesOf(sourceOf('t.tar.gz', tarGzOf(bad)));
    expect(codes).toHaveLength(20);
    expect(codes.at(-1)).toBe('PROBLEM_COUNT_EXCEEDED');
  });
});
