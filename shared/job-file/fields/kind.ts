import type { KeyedText } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type Located, locationOf } from '#shared/job-file/parser/findings.ts';
import {
  type FoundNode,
  readBoolean,
  readInteger,
  readText,
  readTextList,
  readTextMap,
} from '#shared/job-file/parser/read-values.ts';
import { readShortName, type ShortNames } from '#shared/job-file/parser/short-names.ts';

/** A JSON Schema (draft 2020-12). */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A kind of value: how it is read, validated and documented. */
export type Kind<T> = {
  /** Its name in the documentation, with its limits: `integer, 0 to 100`. */
  readonly type: string;
  readonly schema: JsonSchema;
  readonly read: (found: FoundNode | undefined, findings: Findings) => T;
  /** Whether the value is within the limits; reports a problem if not. */
  readonly check?: (value: T, findings: Findings) => boolean;
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
  /** The code of the finding on a value outside the limits. */
  readonly code: string;
  readonly remedy: string;
};

/** An integer within limits, both inclusive. */
export function integer({ min, max, code, remedy, ...rest }: IntegerLimits): Kind<Located<number> | undefined> {
  return {
    type: `integer, ${min} to ${max}`,
    schema: { type: 'integer', minimum: min, maximum: max, ...rest },
    read: readInteger,
    check: (value, findings) => {
      if (value === undefined || (value.value >= min && value.value <= max)) {
        return true;
      }
      const message = `${value.path} must be ${min} to ${max}, but is ${value.value}.`;
      findings.problems.push({ code, message, remedy, ...locationOf(value) });
      return false;
    },
  };
}

/** `true` or `false`. */
export function flag(schema: JsonSchema = {}): Kind<Located<boolean> | undefined> {
  return {
    type: 'boolean',
    schema: { type: 'boolean', ...schema },
    read: readBoolean,
  };
}

/** One of several short names; the draft has the API's name. */
export function oneOf(names: ShortNames): Kind<Located<string> | undefined> {
  return {
    type: Object.keys(names)
      .map((name) => `\`${name}\``)
      .join(', '),
    schema: { enum: Object.keys(names) },
    read: (found, findings) => readShortName(found, names, findings),
  };
}

/** A list of texts. */
export function textList(schema: JsonSchema = SCALAR_LIST_SCHEMA): Kind<readonly Located<string>[] | undefined> {
  return { type: 'list of texts', schema, read: readTextList };
}

/** A mapping of names to texts. */
export function textMap(schema: JsonSchema = {}): Kind<readonly Located<KeyedText>[]> {
  return {
    type: 'mapping',
    schema: { type: 'object', ...schema },
    read: readTextMap,
  };
}
