import { programOption } from '#shared/job-file/fields/field.ts';
import { flag, type Kind } from '#shared/job-file/fields/kind.ts';
import { type Located, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { locationOfNode, readTextList } from '#shared/job-file/parser/read-values.ts';

const PATTERNS_MAX = 50;
const CHARACTERS_MAX = 200;

/** Patterns of paths below the working directory. */
const PATTERNS: Kind<Located<readonly string[]> | undefined> = {
  type: 'list of texts',
  schema: { type: 'array', items: { type: 'string' }, maxItems: PATTERNS_MAX, default: [] },
  read: (found, findings) => {
    const patterns = readTextList(found, findings);
    const invalid = (patterns ?? []).filter(({ value }) => !isPattern(value));
    for (const pattern of invalid) {
      const message = `${pattern.path} is not a path below the working directory: "${pattern.value}".`;
      const remedy = `Write a relative path of at most ${CHARACTERS_MAX} characters without "..": checkpoints, or **/*.pt.`;
      reportInvalid(pattern, { code: 'INVALID_OUTPUT', message, remedy }, findings);
    }
    if (patterns !== undefined && patterns.length > PATTERNS_MAX) {
      const message = `${found?.path} has ${patterns.length} patterns, more than ${PATTERNS_MAX}.`;
      const remedy = 'Name folders: a folder stands for all files below it.';
      findings.problems.push({ code: 'INVALID_OUTPUT', message, remedy, ...(found && locationOfNode(found)) });
    }
    return found && patterns && { ...locationOfNode(found), value: patterns.map(({ value }) => value) };
  },
};

function isPattern(text: string): boolean {
  const parts = text.replace(/\/$/, '').split('/');
  return (
    text.length <= CHARACTERS_MAX && parts.every((part) => !['', '.', '..'].includes(part)) && !/[\\\0\r\n]/.test(text)
  );
}

/** The rows of what is saved of the working directory, in the table of fields. */
export const OUTPUTS = programOption('outputs', PATTERNS, {
  description:
    'Which files below the working directory are saved: paths, with `*`, `?`, `[...]` and `**`; a folder stands for all files below it (docs/program.md).',
  omitted: 'all that the program creates or changes, up to 10 GiB and 10,000 files, but hidden files and caches',
  examples: [['checkpoints', '**/*.pt']],
  synonyms: ['artifacts', 'outputPaths'],
});

export const WORKDIR_OUTPUTS = programOption('workdirOutputs', flag({ default: true }), {
  description:
    'Whether what the program creates or changes below its working directory is saved, beside the output directory.',
  omitted: 'true',
  examples: [false],
  synonyms: ['saveWorkdir'],
});
