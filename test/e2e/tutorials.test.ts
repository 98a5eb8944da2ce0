import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { playTutorial } from '../support/tutorial/play-tutorial.ts';
import { listTutorials, openTutorials, type Tutorials } from '../support/tutorial/tutorials.ts';

const pages = (await listTutorials()).map((path) => [basename(path), path] as const);

describe('a tutorial, read in an empty home folder with the installed program', () => {
  let tutorials: Tutorials;
  beforeAll(async () => {
    tutorials = await openTutorials();
  });
  afterAll(() => tutorials.close());

  it.concurrent.each(pages)('%s shows what its commands print', async (_, path) => {
    const page = await readFile(path, 'utf8');
    const shell = await tutorials.openShell();
    try {
      expect(await playTutorial(page, shell)).toBe(page);
    } finally {
      await shell.close();
    }
  });
});
