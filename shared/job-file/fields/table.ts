import type { Kind } from '#shared/job-file/fields/kind.ts';
import type { Findings, SourceLocation } from '#shared/job-file/parser/findings.ts';
import { type FieldRule, type Fields, isSet, openMapping } from '#shared/job-file/parser/open-mapping.ts';
import { type FoundNode, locationOfNode, readMappings } from '#shared/job-file/parser/read-values.ts';

/**
 * Reads a field, which may be absent, into a target: the draft of a job, or a part of it. Returns the target itself if
 * there is no value.
 */
export type Read<Target> = (target: Target, found: FoundNode | undefined, findings: Findings) => Target;

/**
 * A field of a mapping: how it is read, or why it is not. A field without either is read by the reader of its mapping,
 * together with others.
 */
export type Row<Target> = FieldRule & { readonly read?: Read<Target> };

/** All fields of a mapping of any format, in the order in which they are read. */
export type Table<Target> = Readonly<Record<string, Row<Target>>>;

/** Where the fields of a mapping are read into. */
export type Into<Target> = { readonly table: Table<Target>; readonly target: Target };

/** Reads a mapping, which may be absent: each of its fields with its row. */
export function readMapping<Target>(found: FoundNode | undefined, into: Into<Target>, findings: Findings): Target {
  return readFields(openMapping(found, into.table, findings), into, findings);
}

/** Reads the fields of a mapping that is open already. */
export function readFields<Target>(
  fields: Fields<Table<Target>>,
  { table, target }: Into<Target>,
  findings: Findings,
): Target {
  return Object.entries(table).reduce(
    (result, [name, { read }]) => (read === undefined ? result : read(result, fields[name], findings)),
    target,
  );
}

type Readable<Target> = { readonly read: Read<Target> };

/** A field whose value becomes a property of the target. */
export function property<Target>() {
  return <Key extends keyof Target>(
    key: Key,
    kind: Kind<Target[Key] | undefined>,
  ): Omit<Kind<unknown>, 'read'> & Readable<Target> => ({
    ...kind,
    read: (target, found, findings) => {
      const value = kind.read(found, findings);
      return value === undefined ? target : { ...target, [key]: value };
    },
  });
}

/** Fields of a part of the target; `change` returns the target itself if the part does not change. */
export function part<Target, Part>(change: (target: Target, changePart: (part: Part) => Part) => Target) {
  return <R extends Readable<Part>>(row: R): Omit<R, 'read'> & Readable<Target> => ({
    ...row,
    read: (target, found, findings) => change(target, (one) => row.read(one, found, findings)),
  });
}

/** A mapping whose fields are read into the target itself. */
export function nested<Target>(table: Table<Target>): Readable<Target> {
  return { read: (target, found, findings) => readMapping(found, { table, target }, findings) };
}

type Start<Target> = (location: SourceLocation) => Target;

/** A mapping that becomes a value of its own; undefined if it is absent or null. */
export function mapping<Target>(table: Table<Target>, start: Start<Target>): Kind<Target | undefined> {
  return {
    ...MESSAGE,
    read: (found, findings) => {
      const value = found && readMapping(found, { table, target: start(locationOfNode(found)) }, findings);
      return isSet(found) ? value : undefined;
    },
  };
}

/** A list of mappings. */
export function mappings<Target>(table: Table<Target>, start: Start<Target>): Kind<readonly Target[]> {
  return {
    ...MESSAGE,
    read: (found, findings) =>
      readMappings(found, findings).map((item) =>
        readMapping(item, { table, target: start(locationOfNode(item)) }, findings),
      ),
  };
}

const MESSAGE = { type: 'message', schema: { type: 'object' } } as const;
