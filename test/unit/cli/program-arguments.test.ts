import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { describe, expect, it } from 'vitest';
import type { Io } from '#cli/core/command.ts';
import { startCloudForEachTest } from '../../support/cli/submit-under-test.ts';
import { runCli } from '../../support/cli/test-cloud.ts';

const { cloud, work, listNames } = startCloudForEachTest();

const SUBMIT = ['jobs', 'submit', 'training', 'one', '--package-path=trainer', '--module-name=trainer.task'];

const cli = (argv: readonly string[], io: Partial<Io> = {}) =>
  runCli(argv, { dataDir: cloud().dataDir, cwd: work(), ...io });

/** A terminal that collects what is written, and on which this answer is typed. */
function terminalAnswering(answer: string) {
  const written: string[] = [];
  const stderr = {
    write: (text: string | Uint8Array) => void written.push(String(text)),
    // Commands only compare it with null, and read its width.
    terminal: { columns: 200 } as WriteStream,
    hasColors: false,
  };
  return { io: { stderr, openStdin: () => Readable.from(answer === '' ? [] : [Buffer.from(answer)]) }, written };
}

describe('an argument of the program without --', () => {
  it.each([
    ['run . --epochs 5', 'run . -- --epochs 5'],
    ['run . --epochs 5 --gpu T4 --lr=0.1', 'run . --gpu T4 -- --epochs 5 --lr=0.1'],
    ['run . epochs=5 model=big', 'run . -- epochs=5 model=big'],
    ['run --epochs 5 --spot -- --lr 1', 'run --spot -- --epochs 5 --lr 1'],
    [
      'jobs submit training one --region=us-east1 --epochs 5',
      'jobs submit training one --region=us-east1 -- --epochs 5',
    ],
    ['exec one ls -la', 'exec one -- ls -la'],
  ])('in `%s` is answered with the corrected line', async (typed, corrected) => {
    const { code, stderr } = await cli(typed.split(' '));
    expect(code).toBe(2);
    expect(stderr).toContain(`Arguments of the program follow --: npx dropforge ${corrected}\n`);
  });

  it('is not supposed where no program takes arguments', async () => {
    expect((await cli(['jobs', 'list', '--epochs', '5'])).stderr).not.toContain('Arguments of the program');
  });
});

describe('a flag of the command behind --', () => {
  const LINE = [...SUBMIT, '--', 'epochs=5', '--dry-run', '--labels', 'a=b'];
  const CORRECTED = `npx dropforge ${SUBMIT.join(' ')} --dry-run --labels a=b -- epochs=5`;

  it('is warned of with the corrected line, and the job is submitted', async () => {
    const { code, stderr } = await cli(LINE);
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(
        `--dry-run and --labels behind -- go to the program, whose source does not mention them. If that is not what you mean, run:\n  ${CORRECTED}\n`,
      ),
    ]);
  });

  it.each([
    ['y\n', 0],
    ['yes\n', 0],
    ['n\n', 2],
    ['\n', 2],
  ])('is asked about on a terminal: %j exits with %i', async (answer, code) => {
    const { io, written } = terminalAnswering(answer);
    expect((await cli(LINE, io)).code).toBe(code);
    expect(written.join('')).toContain(`  ${CORRECTED}\nSubmit it as it is? (y/N) `);
    expect(await listNames('uploads')).toHaveLength(code === 0 ? 2 : 0);
    expect(written.join('').endsWith('error: Nothing was submitted.\n')).toBe(code !== 0);
  });

  it('is only warned of if no one can answer', async () => {
    expect((await cli(LINE, terminalAnswering('').io)).code).toBe(0);
    const { io, written } = terminalAnswering('n\n');
    await cli([...SUBMIT, '--quiet', '--', '--dry-run'], io);
    expect(written.join('')).toContain('--dry-run behind --');
    expect(written.join('')).not.toContain('(y/N)');
  });

  it('is the program’s own if its source mentions it', async () => {
    await writeFile(
      join(work(), 'trainer', 'task.py'),
      "parser.add_argument('--dry-run')\nclass Args:\n  labels: str\n",
    );
    expect(await cli(LINE, terminalAnswering('n\n').io)).toMatchObject({ code: 0 });
    expect((await cli([...SUBMIT, '--', '--dry-run'])).stderr).not.toContain('behind --');
  });

  it('is only warned of if the source of the program is not known', async () => {
    const { io, written } = terminalAnswering('n\n');
    const line = [
      'jobs',
      'submit',
      'training',
      'one',
      '--master-image-uri=gcr.io/a/b',
      '--region=us-east1',
      '--',
      '--spot',
    ];
    await cli(line, io);
    expect(written.join('')).toContain('--spot behind -- goes to the program. If');
    expect(written.join('')).not.toContain('(y/N)');
  });
});
