import type { Count, KeyedText } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type Located, locationOf } from '#shared/job-file/parser/findings.ts';
import {
  type FoundNode,
  readBoolean,
  readCount,
  readInteger,
  readNumber,
  readText,
  readTextList,
  readTextMap,
} from '#shared/job-file/parser/read-values.ts';
import { readShortName, type ShortNames } from '#shared/job-file/parser/short-names.ts';

/** A JSON Schema (draft 2020-12). */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A kind of value: how it is read and documented. */
export type Kind<T> = {
  /** Its name in the documentation, with its limits: `integer, 0 to 100`. */
  readonly type: string;
  readonly schema: JsonSchema;
  /** Reads the value, and reports one that is not of the kind or outside its limits; undefined if there is none. */
  readonly read: (found: FoundNode | undefined, findings: Findings) => T;
};

export const TEXT_SCHEMA = { type: 'string' } as const;
export const SCALAR_SCHEMA = { type: ['string', 'number', 'boolean'] } as const;
export const SCALAR_LIST_SCHEMA = { type: 'array', items: SCALAR_SCHEMA } as const;

/** Text. The schema has a pattern or further keywords, if any; validation of the value is the checks' own. */
export function text(schema: JsonSchema = {}): Kind<Located<string> | undefined> {
  return { type: 'text', schema: { ...TEXT_SCHEMA, ...schema }, read: readText };
}

export const TEXT = text();

/** Text of which an empty one means the same as an absent field, as in proto3. */
export const NONEMPTY_TEXT: Kind<Located<string> | undefined> = {
  ...TEXT,
  read: (found, findings) => {
    const value = readText(found, findings);
    return value?.value === '' ? undefined : value;
  },
};

export type IntegerLimits = {
  readonly min: number;
  readonly max: number;
  /** The value of an absent field, for editors. */
  readonly default?: number;
};

/** An integer within limits, both inclusive. Values outside are reported, or left to the checks of all formats. */
export function integer(
  { min, max, ...rest }: IntegerLimits,
  report?: { readonly code: string; readonly remedy: string },
): Kind<Located<number> | undefined> {
  return {
    type: `integer, ${min} to ${max}`,
    schema: { type: 'integer', minimum: min, maximum: max, ...rest },
    read: (found, findings) => {
      const value = readInteger(found, findings);
      if (report !== undefined && value !== undefined && (value.value < min || value.value > max)) {
        const message = `${value.path} must be ${min} to ${max}, but is ${value.value}.`;
        findings.problems.push({ ...report, message, ...locationOf(value) });
      }
      return value;
    },
  };
}

/** An integer whose limits are in the schema alone. */
export function wholeNumber(schema: JsonSchema = {}): Kind<Located<number> | undefined> {
  return { type: 'integer', schema: { type: 'integer', ...schema }, read: readInteger };
}

/** A number of machines or of their parts. */
export function count(schema: JsonSchema = {}): Kind<Located<Count> | undefined> {
  return { type: 'integer', schema: { type: 'integer', ...schema }, read: readCount };
}

export function number(schema: JsonSchema = {}): Kind<Located<number> | undefined> {
  return { type: 'number', schema: { type: 'number', ...schema }, read: readNumber };
}

/** `true` or `false`. */
export function flag(schema: JsonSchema = {}): Kind<Located<boolean> | undefined> {
  return { type: 'boolean', schema: { type: 'boolean', ...schema }, read: readBoolean };
}

/** One of several short names; the draft has the API's name. */
export function oneOf(names: ShortNames, schema: JsonSchema = {}): Kind<Located<string> | undefined> {
  const known = Object.keys(names);
  return {
    type: known.map((name) => `\`${name}\``).join(', '),
    schema: { enum: known, ...schema },
    read: (found, findings) => readShortName(found, names, findings),
  };
}

/** A list of texts. */
export function textList(schema: JsonSchema = SCALAR_LIST_SCHEMA): Kind<readonly Located<string>[] | undefined> {
  return { type: 'list of texts', schema, read: readTextList };
}

/** A mapping of names to texts. */
export function textMap(schema: JsonSchema = {}): Kind<readonly Located<KeyedText>[]> {
  return { type: 'mapping', schema: { type: 'object', ...schema }, read: readTextMap };
}
