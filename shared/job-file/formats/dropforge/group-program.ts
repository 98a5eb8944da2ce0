import { EMPTY_PROGRAM, type ProgramDraft } from '#shared/job-file/draft/job-draft.ts';
import type { Field } from '#shared/job-file/fields/field.ts';
import { TEXT_SCHEMA } from '#shared/job-file/fields/kind.ts';
import { ARGUMENTS, COMMAND } from '#shared/job-file/formats/dropforge/program.ts';
import type { Findings } from '#shared/job-file/parser/findings.ts';
import { type FoundNode, readText, readTextList } from '#shared/job-file/parser/read-values.ts';

/** The fields of a group's own program; what it does not set is completed by the validation (check-programs.ts). */
export const GROUP_PROGRAM_FIELDS = {
  image: {
    description: 'Their container image, which runs without the packages, module, command and arguments of the job.',
    type: 'text',
    schema: TEXT_SCHEMA,
    omitted: "the job's",
    examples: ['europe-west4-docker.pkg.dev/my-project/images/reader:1'],
    synonyms: ['imageUri'],
  },
  command: {
    description: "The command of their container, instead of the job's module or command, and without its arguments.",
    type: 'list of texts',
    schema: COMMAND.schema,
    omitted: "the job's",
    synonyms: ['containerCommand'],
  },
  args: {
    description: 'The arguments of their program.',
    type: 'list of texts, or mapping',
    schema: ARGUMENTS.schema,
    omitted: "the job's; none with an image, a command or a module of their own",
    synonyms: ['containerArgs'],
  },
  module: {
    description: "Their Python module, instead of the job's module or command, and without its arguments.",
    type: 'text',
    schema: TEXT_SCHEMA,
    omitted: "the job's",
    examples: ['trainer.evaluate'],
    synonyms: ['pythonModule'],
  },
  packages: {
    description: 'The packages of their program.',
    type: 'list of texts',
    schema: { type: 'array', items: { type: 'string' } },
    omitted: "the job's; none with an image of their own and no module",
    synonyms: ['packageUris'],
  },
} as const satisfies Readonly<Record<string, Field>>;

type ProgramNodes = Readonly<Partial<Record<keyof typeof GROUP_PROGRAM_FIELDS, FoundNode | undefined>>>;

/** The program as far as the group sets it. */
export function readGroupProgram(group: ProgramNodes, findings: Findings): ProgramDraft {
  return {
    ...EMPTY_PROGRAM,
    imageUri: readText(group.image, findings),
    command: COMMAND.read(group.command, findings),
    args: ARGUMENTS.read(group.args, findings),
    pythonModule: readText(group.module, findings),
    packageUris: readTextList(group.packages, findings),
  };
}
