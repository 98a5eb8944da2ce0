import type { ProgramOptions } from '#shared/domain/job-spec.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { JsonSchema, Kind } from '#shared/job-file/fields/kind.ts';
import { inProgramOptions, type Slot } from '#shared/job-file/fields/slot.ts';
import type { Findings, Located } from '#shared/job-file/parser/findings.ts';
import { type FieldRule, READ } from '#shared/job-file/parser/open-mapping.ts';
import type { FoundNode } from '#shared/job-file/parser/read-values.ts';

/** A field's documentation, from which the JSON Schema and docs/job-file.md are generated. */
export type FieldDocs = {
  readonly description: string;
  /** The value that applies if the field is absent, as text. */
  readonly omitted: string;
  readonly examples?: readonly unknown[];
  /** Names of the field in other formats and tools: a file with one of them is told this field's name. */
  readonly synonyms?: readonly string[];
  /** The first version that reads the field, if it is not the first version of all. */
  readonly since?: string;
};

/** A field of a mapping inside the job, which is read together with that mapping. */
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

/**
 * A field at the top level of a job file. `read` adds the field to a draft that has all fields of earlier rows.
 */
export type JobField = Field & {
  readonly goesTo: Destination;
  readonly read: (draft: JobDraft, found: FoundNode | undefined, findings: Findings) => JobDraft;
  /** Whether the value is within its kind's limits; reports a problem if not. Other rules are in `validation`. */
  readonly check: (draft: JobDraft, findings: Findings) => boolean;
  /** Whether the value is one of ProgramOptions, which the VM's configuration has under the field's name. */
  readonly isProgramOption?: boolean;
};

type JobRow = FieldDocs & { readonly goesTo: Destination };

/** A field with its own reader. */
export function custom(
  { type, schema }: Pick<Field, 'type' | 'schema'>,
  row: JobRow & Pick<JobField, 'read'>,
): JobField {
  return { ...row, type, schema, check: () => true };
}

/** A field whose kind alone decides how it is read and validated. */
export function field<T>(slot: Slot<T>, kind: Kind<T>, row: JobRow): JobField {
  return {
    ...row,
    type: kind.type,
    schema: kind.schema,
    read: (draft, found, findings) => slot.set(draft, kind.read(found, findings)),
    check: (draft, findings) => kind.check?.(slot.get(draft), findings) ?? true,
  };
}

/** A scalar that JobSpec and the VM's configuration carry under the field's name: its row is all that it needs here. */
export function programOption<Name extends keyof ProgramOptions & string>(
  name: Name,
  kind: Kind<Located<NonNullable<ProgramOptions[Name]>> | undefined>,
  docs: FieldDocs,
): JobField {
  const goesTo = { spec: `programOptions.${name}`, vm: `config.options.${name}` };
  return { ...field(inProgramOptions(name), kind, { ...docs, goesTo }), isProgramOption: true };
}

/** The rule of a field of another format, if it has a slot of its own in the draft. */
type SlotRule = typeof READ & Pick<JobField, 'read'>;

type SlotRules = Readonly<Record<string, FieldRule | SlotRule>>;

/** A field of another format whose kind alone decides how it is read. */
export function readInto<T>(slot: Slot<T>, kind: Pick<Kind<T>, 'read'>): SlotRule {
  return {
    ...READ,
    read: (draft, found, findings) => slot.set(draft, kind.read(found, findings)),
  };
}

/** Reads the fields of a message that have a `readInto` rule. */
export function readSlots(
  draft: JobDraft,
  { rules, fields }: { readonly rules: SlotRules; readonly fields: Readonly<Record<string, FoundNode | undefined>> },
  findings: Findings,
): JobDraft {
  return Object.entries(rules).reduce(
    (result, [name, rule]) => ('read' in rule ? rule.read(result, fields[name], findings) : result),
    draft,
  );
}

/** The rules for `openMapping`: every field of the table is read. */
export function rulesOf<Table extends Readonly<Record<string, unknown>>>(
  table: Table,
): { readonly [Name in keyof Table]: typeof READ } {
  // Object.fromEntries loses the names' type.
  return Object.fromEntries(Object.keys(table).map((name) => [name, READ])) as Record<keyof Table, typeof READ>;
}

/** The synonyms for `openMapping`: those in the rows, and those that stand for several fields. */
export function synonymsOf(
  table: Readonly<Record<string, FieldDocs>>,
  others: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const own = Object.entries(table).flatMap(([name, { synonyms = [] }]) => synonyms.map((synonym) => [synonym, name]));
  return { ...Object.fromEntries(own), ...others };
}

/** A JSON Schema for a mapping with the fields of a table and no others. */
export function mappingSchema(table: Readonly<Record<string, Field>>): JsonSchema {
  const properties = Object.entries(table).map(([name, { description, schema, examples, since }]) => [
    name,
    {
      description: since === undefined ? description : `${description} Since version ${since}.`,
      ...schema,
      ...(examples && { examples }),
    },
  ]);
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) };
}
