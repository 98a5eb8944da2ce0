import type { ProgramOptions } from '#shared/domain/job-spec.ts';
import type { JobDraft, ProgramOptionsDraft } from '#shared/job-file/draft/job-draft.ts';
import type { JsonSchema, Kind } from '#shared/job-file/fields/kind.ts';
import { part, property, type Read } from '#shared/job-file/fields/table.ts';

/** A field's documentation, from which the JSON Schema and docs/job-file.md are generated. */
export type FieldDocs = {
  readonly description: string;
  /** The value that applies if the field is absent, as text. */
  readonly omitted: string;
  readonly examples?: readonly unknown[];
  /** Names of the field in other formats and tools: a file with one of them is told this field's name. */
  readonly synonyms?: readonly string[];
};

/** A documented field of a mapping of Dropforge's own format. */
export type Field = FieldDocs & { readonly type: string; readonly schema: JsonSchema };

/** Where a field's value is needed, as dotted paths. */
export type Destination = {
  /** In JobSpec. */
  readonly spec: string;
  /**
   * In the request for a VM (`VmRequest`, with the agent's configuration under `config`); null if VMs do not need it,
   * or if this version does not support it.
   */
  readonly vm: string | null;
};

/** A field at the top level of a job file, which is read into a draft that has all fields of earlier rows. */
export type JobField = Field & {
  readonly goesTo: Destination;
  readonly read: Read<JobDraft>;
  /** Whether the value is one of ProgramOptions, which the VM's configuration has under the field's name. */
  readonly isProgramOption?: boolean;
};

const ofProgramOptions = part<JobDraft, ProgramOptionsDraft>((draft, change) => ({
  ...draft,
  programOptions: change(draft.programOptions),
}));

const inProgramOptions = property<ProgramOptionsDraft>();

/** A scalar that JobSpec and the VM's configuration carry under the field's name: its row is all that it needs here. */
export function programOption<Name extends keyof ProgramOptions & string>(
  name: Name,
  kind: Kind<ProgramOptionsDraft[Name]>,
  docs: FieldDocs,
): JobField {
  const goesTo = { spec: `programOptions.${name}`, vm: `config.options.${name}` };
  return { ...ofProgramOptions(inProgramOptions(name, kind)), ...docs, goesTo, isProgramOption: true };
}

/** A JSON Schema for a mapping with the fields of a table and no others. */
export function mappingSchema(table: Readonly<Record<string, Field>>): JsonSchema {
  const properties = Object.entries(table).map(([name, { description, schema, examples }]) => [
    name,
    { description, ...schema, ...(examples && { examples }) },
  ]);
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) };
}
