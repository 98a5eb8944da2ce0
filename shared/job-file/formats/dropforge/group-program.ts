import type { PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import type { Field } from '#shared/job-file/fields/field.ts';
import { TEXT, textList } from '#shared/job-file/fields/kind.ts';
import type { Row } from '#shared/job-file/fields/table.ts';
import { inProgram, ofProgram } from '#shared/job-file/fields/targets.ts';
import { ARGUMENTS, COMMAND } from '#shared/job-file/formats/dropforge/program.ts';

/** The fields of a group's own program; what it does not set is completed by the validation (check-programs.ts). */
export const GROUP_PROGRAM_FIELDS = {
  image: {
    ...ofProgram(inProgram('imageUri', TEXT)),
    description: 'Their container image, which runs without the packages, module, command and arguments of the job.',
    omitted: "the job's",
    examples: ['europe-west4-docker.pkg.dev/my-project/images/reader:1'],
    synonyms: ['imageUri'],
  },
  command: {
    ...ofProgram(inProgram('command', COMMAND)),
    description: "The command of their container, instead of the job's module or command, and without its arguments.",
    omitted: "the job's",
    synonyms: ['containerCommand'],
  },
  args: {
    ...ofProgram(inProgram('args', ARGUMENTS)),
    description: 'The arguments of their program.',
    omitted: "the job's; none with an image, a command or a module of their own",
    synonyms: ['containerArgs'],
  },
  module: {
    ...ofProgram(inProgram('pythonModule', TEXT)),
    description: "Their Python module, instead of the job's module or command, and without its arguments.",
    omitted: "the job's",
    examples: ['trainer.evaluate'],
    synonyms: ['pythonModule'],
  },
  packages: {
    ...ofProgram(inProgram('packageUris', textList({ type: 'array', items: { type: 'string' } }))),
    description: 'The packages of their program.',
    omitted: "the job's; none with an image of their own and no module",
    synonyms: ['packageUris'],
  },
} as const satisfies Readonly<Record<string, Field & Row<PoolDraft>>>;
