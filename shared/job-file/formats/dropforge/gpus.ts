import { findGpuEnum, readCatalog } from '#shared/catalog/catalog.ts';
import type { AcceleratorDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Field, mappingSchema } from '#shared/job-file/fields/field.ts';
import { count, type JsonSchema, type Kind, TEXT } from '#shared/job-file/fields/kind.ts';
import { type Row, readMapping } from '#shared/job-file/fields/table.ts';
import { inAccelerator } from '#shared/job-file/fields/targets.ts';
import { type Findings, type Located, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { type FoundNode, readText, reportWrongKind } from '#shared/job-file/parser/read-values.ts';

const GPU_TYPE: Kind<Located<string> | undefined> = {
  ...TEXT,
  schema: { $ref: '#/$defs/gpuType' },
  read: (found, findings) => {
    const type = readText(found, findings);
    return type && { ...type, value: findGpuEnum(type.value) ?? type.value };
  },
};

export const GPU_FIELDS = {
  type: {
    ...inAccelerator('type', GPU_TYPE),
    description: 'The GPU type.',
    omitted: 'required',
    synonyms: ['acceleratorType', 'name'],
  },
  count: {
    ...inAccelerator('count', count({ minimum: 1, default: 1 })),
    description: 'The number of GPUs of each machine.',
    omitted: '1',
    synonyms: ['acceleratorCount'],
  },
} as const satisfies Readonly<Record<string, Field & Row<AcceleratorDraft>>>;

/** GPUs as one text, `2 x T4`, or as a mapping of type and count. */
export const GPUS: Kind<AcceleratorDraft> = {
  type: 'text, or `type` and `count`',
  schema: { $ref: '#/$defs/gpu' },
  read: readGpus,
};

/** The schemas of a GPU type and of `gpu`; suggests the short names of the catalog's GPUs. */
export function gpuSchemas(): JsonSchema {
  const { properties, ...mapping } = mappingSchema(GPU_FIELDS);
  return {
    gpuType: { anyOf: [{ enum: readCatalog().accelerators.map(({ label }) => label) }, { type: 'string' }] },
    gpu: {
      anyOf: [
        { enum: readCatalog().accelerators.map(({ label }) => label) },
        { type: 'string', pattern: '[A-Za-z]', examples: ['2 x T4', '8 x A100'] },
        { ...mapping, required: ['type'], properties, examples: [{ type: 'A100', count: 8 }] },
      ],
    },
  };
}

function readGpus(found: FoundNode | undefined, findings: Findings): AcceleratorDraft {
  if (found?.node.kind === 'MAPPING') {
    const { type, count: given } = readMapping(found, { table: GPU_FIELDS, target: {} }, findings);
    return { type, count: given ?? (type && { ...type, value: 1 }) };
  }
  if (found?.node.kind === 'LIST') {
    reportWrongKind(found, 'text such as 2 x T4, or a mapping of type and count', findings);
    return {};
  }
  const text = readText(found, findings);
  if (text !== undefined && isBareCount(text.value)) {
    const message = `${text.path} does not name a GPU: "${text.value}".`;
    const remedy = 'Write a GPU type, such as T4 or 2 x T4; for a machine without GPUs, remove the field.';
    reportInvalid(text, { code: 'GPU_NOT_NAMED', message, remedy }, findings);
    return {};
  }
  const parsed = text && parseGpus(text.value);
  return {
    type: text && parsed && { ...text, value: parsed.type },
    count: text && parsed && { ...text, value: parsed.count },
  };
}

/** Longer texts do not name GPUs; the limit bounds the time of pattern matching. */
const TEXT_CHARACTERS_MAX = 100;

/** `2 x T4`, `2xT4`, `T4x2`; and `T4:2`, as SkyPilot, dstack and Modal write it. */
const COUNT_FIRST_PATTERN = /^(\d{1,4})\s*[x×*]\s*(\S.*)$/i;
const COUNT_LAST_PATTERN = /^(\S.*?)\s*(?::|(?<=\d(?:GB?)?)[x×*])\s*(\d{1,4})$/i;

/** Type and count of GPUs in one text; the count defaults to 1. */
export function parseGpus(text: string): { readonly type: string; readonly count: number } {
  if (text.length > TEXT_CHARACTERS_MAX) {
    return { type: text, count: 1 };
  }
  const first = COUNT_FIRST_PATTERN.exec(text);
  const last = first === null ? COUNT_LAST_PATTERN.exec(text) : null;
  const type = first?.[2] ?? last?.[1] ?? text;
  return { type: findGpuEnum(type) ?? type, count: Number(first?.[1] ?? last?.[2] ?? 1) };
}

/** Whether a text is a count without a GPU type. */
function isBareCount(text: string): boolean {
  return /^\s*\d*\s*$/.test(text);
}
