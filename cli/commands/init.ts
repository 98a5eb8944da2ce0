import { cp, readdir } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import type { Command } from '#cli/core/command.ts';
import { Failure, UsageFailure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import { PRODUCT_ROOT } from '#infra/product-root.ts';
import { quoteForShell } from '#shared/text/quote-for-shell.ts';

const TEMPLATES = join(PRODUCT_ROOT, 'cli', 'templates');

export const init: Command = {
  operands: [
    {
      ...{ name: 'TEMPLATE', count: 'optional', choices: ['python', 'pytorch'] },
      summary: 'python, which needs nothing else, or pytorch (default: python)',
    },
    { name: 'FOLDER', summary: 'a new or empty folder (default: the current one)', count: 'optional' },
  ],
  flags: [],
  notes: 'Writes a job file, a program that resumes from its checkpoint and reports metrics, and its test.',
  example: 'pytorch my_model',
  async run({ io, operands, print }) {
    const [template = 'python', folder = '.'] = operands;
    const templates = (await readdir(TEMPLATES)).sort();
    if (!templates.includes(template)) {
      throw new UsageFailure(
        `There is no template ${template}: use ${templates.join(' or ')}, such as ` +
          `\`${programName()} init python ${quoteForShell(operands[1] ?? template)}\`.`,
      );
    }
    const target = resolve(io.cwd, folder);
    const present = await readdir(target).catch(() => []);
    // A repository may be created first.
    if (present.some((name) => !name.startsWith('.'))) {
      throw new Failure(
        `${target} is not empty, and nothing was written. Name a new folder: \`${programName()} init ${template} my_model\`; ` +
          `to train what is there, use \`${programName()} run ${quoteForShell(folder)}\`.`,
      );
    }
    const filter = (path: string) => basename(path) !== '__pycache__';
    await cp(join(TEMPLATES, template), target, { recursive: true, force: false, filter });
    const files = (await readdir(target, { recursive: true, withFileTypes: true })).filter((file) => file.isFile());
    const names = files.map((file) => relative(target, join(file.parentPath, file.name))).sort();
    const enter = target === io.cwd ? [] : [`  cd ${quoteForShell(folder)}`];
    const commands = [...enter, '  python3 -m unittest', `  ${programName()} run .`];
    const text = [`Wrote ${names.join(', ')} to ${target}. Next:`, ...commands].join('\n');
    print({ json: { folder: target, files: names }, text });
    return 0;
  },
};
