import type { Invocation, Io } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { orInterrupted } from '#cli/core/interruptible.ts';
import type { PackageSource } from '#cli/submit/package-source.ts';
import { collectSourceFiles } from '#cli/submit/source-files.ts';

/**
 * Warns if flags of this command are among the arguments of a program; not of those that its source mentions. On a
 * terminal, asks whether to go on if all of the source is known. Throws UsageFailure if the answer is not yes.
 */
export async function confirmMisplaced(invocation: Invocation, packages: readonly PackageSource[]): Promise<void> {
  const { io, misplaced, isSet } = invocation;
  const folders = packages.filter(({ kind }) => kind === 'FOLDER' || kind === 'WORKING_DIRECTORY');
  const source = misplaced === undefined ? '' : await readSource(folders);
  // AI Platform passes --job-dir to programs.
  const names = misplaced?.names.filter((name) => name !== '--job-dir' && !mentions(source, name)) ?? [];
  if (misplaced === undefined || names.length === 0) {
    return;
  }
  const isKnown = folders.length > 0 && folders.length === packages.length;
  const [goes, them] = names.length === 1 ? ['goes', 'it'] : ['go', 'them'];
  io.stderr.write(
    `${names.join(' and ')} behind -- ${goes} to the program${isKnown ? `, whose source does not mention ${them}` : ''}. ` +
      `If that is not what you mean, run:\n  ${misplaced.corrected}\n`,
  );
  const isAsked = isKnown && io.stderr.terminal !== null && !isSet('quiet');
  if (isAsked && !/^y(es)?$/i.test(await ask(io, 'Submit it as it is? (y/N) '))) {
    throw new UsageFailure('Nothing was submitted.');
  }
}

async function readSource(folders: readonly PackageSource[]): Promise<string> {
  const texts: string[] = [];
  for (const one of folders) {
    const { files } = 'path' in one ? await collectSourceFiles(one.path) : { files: [] };
    for (const file of files.filter(({ path }) => path.endsWith('.py'))) {
      texts.push(Buffer.from(await file.read()).toString('utf8'));
    }
  }
  return texts.join('\n');
}

function mentions(source: string, name: string): boolean {
  // The name of an interpreter is in many comments.
  const word = name.startsWith('--') ? `\\b${name.slice(2).replaceAll('-', '[-_]')}` : `['"]${name}`;
  return new RegExp(`${word}\\b`).test(source);
}

/** The first line of the standard input; yes if it is at its end, where there is no one to answer. */
async function ask({ stderr, openStdin, interrupted }: Io, question: string): Promise<string> {
  stderr.write(question);
  const lines = openStdin()[Symbol.asyncIterator]();
  const { value, done } = await orInterrupted(interrupted, lines.next());
  await lines.return?.();
  return done ? 'y' : Buffer.from(value).toString('utf8').trim();
}
