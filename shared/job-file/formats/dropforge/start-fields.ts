import { programOption } from '#shared/job-file/fields/field.ts';
import { type Kind, text } from '#shared/job-file/fields/kind.ts';
import { ARGUMENTS } from '#shared/job-file/formats/dropforge/program.ts';
import { type Located, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { locationOfNode, readText } from '#shared/job-file/parser/read-values.ts';

const WORDS: Kind<Located<readonly string[]> | undefined> = {
  type: ARGUMENTS.type,
  schema: { ...ARGUMENTS.schema, default: [] },
  read: (found, findings) => {
    const words = ARGUMENTS.read(found, findings);
    return found && words && { ...locationOfNode(found), value: words.map(({ value }) => value) };
  },
};

/** The rows of how a program is started, in the table of fields. */
export const RESUME_ARGUMENTS = programOption('resumeArguments', WORDS, {
  description:
    'Arguments that are added when the program begins with files that an earlier attempt has saved: `[--init_from=resume]`.',
  omitted: 'none',
  examples: [['--init_from=resume']],
  synonyms: ['resumeArgs'],
});

const CHARACTERS_MAX = 200;

const FOLDER: Kind<Located<string> | undefined> = {
  ...text({ default: '' }),
  read: (found, findings) => {
    const folder = readText(found, findings);
    if (folder !== undefined && !isFolder(folder.value)) {
      const message = `${folder.path} is not a folder of the package or the image: "${folder.value}".`;
      const remedy = `Write a path without "..", of at most ${CHARACTERS_MAX} characters: src/models.`;
      reportInvalid(folder, { code: 'INVALID_WORKDIR', message, remedy }, findings);
    }
    return folder;
  },
};

function isFolder(path: string): boolean {
  return path.length <= CHARACTERS_MAX && !/[\\\0\r\n]/.test(path) && !path.split('/').includes('..');
}

export const WORKDIR = programOption('workdir', FOLDER, {
  description:
    'Where the program runs: a folder of the package, relative to its root, or an absolute path in the image of a container.',
  omitted: "the root of the package, or the image's folder",
  examples: ['implementations/gan'],
  synonyms: ['workingDir', 'workingDirectory'],
});
