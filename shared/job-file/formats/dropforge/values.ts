import { type Accelerator, findAccelerator, readCatalog, toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import type { AcceleratorDraft } from '#shared/job-file/draft/job-draft.ts';
import type { ShortNames } from '#shared/job-file/parser/short-names.ts';

/** Every other reservation is named. */
export const RESERVATIONS = { any: 'ANY_RESERVATION', none: 'NO_RESERVATION' } as const satisfies ShortNames;

/** No GPU's name and no duration is as long; what follows is searched in a time that grows faster than the text. */
const TEXT_CHARACTERS_MAX = 100;

/** `2 x T4`, `2xT4`; and `T4:2`, as SkyPilot, dstack and Modal write it. */
const COUNT_FIRST_PATTERN = /^(\d{1,4})\s*[x×*]\s*(\S.*)$/i;
const COUNT_LAST_PATTERN = /^(\S.*?)\s*:\s*(\d{1,4})$/;

/** GPUs in one text; without a count it is one. */
export function parseGpus(text: string): { readonly type: string; readonly count: number } {
  if (text.length > TEXT_CHARACTERS_MAX) {
    return { type: text, count: 1 };
  }
  const first = COUNT_FIRST_PATTERN.exec(text);
  if (first !== null) {
    return { type: toGpuEnum(first[2] ?? ''), count: Number(first[1]) };
  }
  const last = COUNT_LAST_PATTERN.exec(text);
  return { type: toGpuEnum(last?.[1] ?? text), count: Number(last?.[2] ?? 1) };
}

/** The API's name of a GPU that is called `T4`, `A100-80GB` or `nvidia-l4`; a text that is none stays as it is. */
export function toGpuEnum(text: string): string {
  const name = withoutMaker(text);
  const found = readCatalog().accelerators.find((accelerator) => namesOf(accelerator).includes(name));
  return found === undefined ? text : toAcceleratorEnum(found.name);
}

function namesOf({ name, label, memoryGibPerGpu }: Accelerator): readonly string[] {
  return [withoutMaker(name), simplify(label), simplify(`${label}-${memoryGibPerGpu}GB`)];
}

function withoutMaker(text: string): string {
  return simplify(text).replace(/^(nvidia)?(tesla)?/, '');
}

function simplify(text: string): string {
  return text.toLowerCase().replaceAll(/[-_\s]/g, '');
}

/** GPUs in the shortest form that reads as the same; undefined where nothing is said. */
export function printGpus({ type, count }: AcceleratorDraft): unknown {
  const name = type && (findAccelerator(type.value)?.label ?? type.value);
  if (name !== undefined && typeof count?.value === 'number') {
    const text = count.value === 1 ? name : `${count.value} x ${name}`;
    const again = parseGpus(text);
    if (again.type === toGpuEnum(name) && again.count === count.value && !isBareCount(text)) {
      return text;
    }
  }
  return name === undefined && count === undefined
    ? undefined
    : { ...(name !== undefined && { type: name }), ...(count && { count: count.value }) };
}

/** A number alone names no GPU. */
export function isBareCount(text: string): boolean {
  return /^\s*\d*\s*$/.test(text);
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

const API_PATTERN = /^\d+(\.\d+)?s$/;
const SHORT_PATTERN =
  /^(?:(\d{1,6}(?:\.\d{1,3})?)d)?\s*(?:(\d{1,6}(?:\.\d{1,3})?)h)?\s*(?:(\d{1,9}(?:\.\d{1,3})?)m)?\s*(?:(\d{1,9}(?:\.\d{1,3})?)s)?$/;

/** `12h`, `2d`, `1h 30m` as the API writes it, `43200s`; what is no such duration stays as it is. */
export function toApiDuration(text: string): string {
  const isLong = text.length > TEXT_CHARACTERS_MAX;
  const match = isLong || API_PATTERN.test(text) ? null : SHORT_PATTERN.exec(text.trim());
  if (match === null || match[0] === '') {
    return text;
  }
  const seconds = UNITS.reduce((sum, [, length], index) => sum + Number(match[index + 1] ?? 0) * length, 0);
  return `${Math.round(seconds * 1_000) / 1_000}s`;
}

/** The API's duration in the largest unit that divides it. */
export function toShortDuration(text: string): string {
  const seconds = /^[1-9]\d{0,11}s$/.test(text) ? Number.parseInt(text, 10) : Number.NaN;
  const [unit, length] = UNITS.find(([, divisor]) => seconds % divisor === 0) ?? ['s', 1];
  const short = `${seconds / length}${unit}`;
  return toApiDuration(short) === text ? short : text;
}
