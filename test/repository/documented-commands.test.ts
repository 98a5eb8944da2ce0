import { expect, it } from 'vitest';
import { COMMANDS } from '#cli/commands.ts';
import { GLOBAL_FLAGS } from '#cli/core/global-flags.ts';
import { readRepository } from './repository-files.ts';

const pages = readRepository().filter(({ path }) =>
  /^(README\.md|docs\/(?!adr\/).*\.md|terraform\/.*\.md)$/.test(path),
);

/** The command lines of fenced blocks, without what a shell or the program of a job reads. */
function listCommandLines(text: string): readonly string[] {
  const blocks = [...text.matchAll(/^ *```(?:sh|bash|console)\n([\s\S]*?)^ *```$/gm)].map(([, block]) => block ?? '');
  return blocks
    .flatMap((block) => block.replaceAll(/\\\n/g, ' ').split('\n'))
    .flatMap((line) => [...line.matchAll(/^ *(?:\$ )?(?:.*?&& )?(?:npx )?dropforge ([a-z].*)$/g)])
    .map(([, line]) => (line ?? '').split(/ -- | \| | && | # | > |[;)]/)[0] ?? '');
}

async function findMistake(line: string): Promise<string | undefined> {
  const words = line
    .trim()
    .split(/\s+/)
    .filter((word, index, all) => !isGlobal(word) && !isGlobal(all[index - 1] ?? ''));
  const command = COMMANDS.filter(({ name }) => `${words.join(' ')} `.startsWith(`${name} `)).toSorted(
    (a, b) => b.name.length - a.name.length,
  )[0];
  if (command === undefined) {
    return `${line}: unknown command`;
  }
  const { flags } = await command.load();
  const names = new Set(['help', ...[...flags, ...GLOBAL_FLAGS].map(({ name }) => name)]);
  const unknown = words.flatMap((word) => /^--([a-z-]+)/.exec(word)?.[1] ?? []).filter((name) => !names.has(name));
  return unknown.length === 0 ? undefined : `${line}: no flag --${unknown.join(', --')}`;
}

/** Whether a word is a flag before the command, whose value follows it. */
function isGlobal(word: string): boolean {
  return ['--deployment', '--data-dir'].includes(word);
}

it('every command of the documentation exists with its flags, also those that only Google Cloud can run', async () => {
  const lines = pages.flatMap(({ path, text }) => listCommandLines(text).map((line) => ({ path, line })));
  expect(lines.length).toBeGreaterThan(50);
  const mistakes = await Promise.all(
    lines.map(async ({ path, line }) => {
      const mistake = await findMistake(line);
      return mistake === undefined ? [] : [`${path}: ${mistake}`];
    }),
  );
  expect(mistakes.flat()).toEqual([]);
});
