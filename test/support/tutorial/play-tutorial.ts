import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { patternOf } from './output-pattern.ts';
import type { TutorialShell } from './tutorial-shell.ts';

/** Introduces the block of a file that the reader saves. */
const SAVE = /\bsave (?:this|it) as `([^`]+)`/i;

const FENCE = '```';
const PROMPT = '$ ';
const INTERRUPT = '^C';

/** Commands that run in a terminal of their own until the end of the page. */
const ENDLESS = /^dropforge up\b/;

/**
 * Does what a page says: saves its files and runs the commands of its `console` blocks. Returns the page with the
 * output that each command has printed if it does not agree with what the page shows; the same page if all do.
 */
export async function playTutorial(page: string, shell: TutorialShell): Promise<string> {
  const lines = page.split('\n');
  const played: string[] = [];
  for (let index = 0; index < lines.length; ) {
    const line = lines[index] ?? '';
    const end = line.startsWith(FENCE) ? lines.indexOf(FENCE, index + 1) : index;
    const block = lines.slice(index + 1, end);
    played.push(line);
    if (line.startsWith(FENCE)) {
      const [, path] = SAVE.exec(lines.slice(0, index).findLast((before) => before !== '') ?? '') ?? [];
      if (path !== undefined) {
        await mkdir(dirname(join(shell.home, path)), { recursive: true });
        await writeFile(join(shell.home, path), `${block.join('\n')}\n`);
      }
      played.push(...(line === `${FENCE}console` ? await playBlock(block, shell) : block), FENCE);
    }
    index = end + 1;
  }
  return played.join('\n');
}

async function playBlock(block: readonly string[], shell: TutorialShell): Promise<readonly string[]> {
  const played: string[] = [];
  for (let index = 0; index < block.length; ) {
    let next = index + 1;
    while (block[next - 1]?.endsWith('\\')) {
      next += 1;
    }
    const command = block.slice(index, next);
    const following = block.findIndex((line, at) => at >= next && line.startsWith(PROMPT));
    const shown = block.slice(next, following === -1 ? block.length : following);
    played.push(...command, ...(await playCommand({ command: command.join('\n').slice(PROMPT.length), shown }, shell)));
    index = next + shown.length;
  }
  return played;
}

type Shown = { readonly command: string; readonly shown: readonly string[] };

/** Returns the lines that a page has to show after the command. */
async function playCommand({ command, shown }: Shown, shell: TutorialShell): Promise<readonly string[]> {
  const interrupt = shown.indexOf(INTERRUPT);
  const interruptAt = interrupt === -1 ? undefined : patternOf(shown.slice(0, interrupt));
  const { output: printed, code } = ENDLESS.test(command)
    ? await shell.start(command, patternOf(shown))
    : await shell.run(command, interruptAt);
  // A file may end without a line break.
  const output = printed.replace(/[^\n]$/, '$&\n');
  const isFailureShown = interrupt !== -1 || shown.some((line) => /^ *error\b/.test(line));
  const isExpected = ENDLESS.test(command) ? code === null : (code === 0) !== isFailureShown;
  if (isExpected && patternOf(shown).test(output)) {
    return shown;
  }
  return [...output.split('\n').slice(0, -1), ...(isExpected ? [] : [`(exit code ${code})`])];
}
