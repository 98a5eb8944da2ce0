import { gzipSync } from 'node:zlib';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import { SERIES_PREFIX } from '#shared/protocol/series-part.ts';

type Value = number | 'NaN' | 'Infinity' | '-Infinity';

export type PartOptions = {
  readonly jobId?: string;
  readonly jobDir?: string;
  readonly attempt?: number;
  readonly replica?: string;
  readonly boot?: number;
  readonly number?: number;
  readonly kind?: 'metrics' | 'system';
};

/** A line as agents write it, with one point a second. */
export function seriesLine(
  name: string,
  values: readonly Value[],
  at = { step: 1, time: 10_000 } as LineStart,
): string {
  const { step, time } = at;
  const steps = step === null ? {} : { steps: values.map((_, index) => step + index) };
  return JSON.stringify({ name, at: time, times: values.map((_, index) => index * 1_000), ...steps, values });
}

type LineStart = { readonly step: number | null; readonly time: number };

/** Writes a part as an agent does: by default the first one of the first attempt of job `digits`. */
export async function writePart(
  objects: ObjectStore,
  lines: readonly string[],
  options: PartOptions = {},
): Promise<string> {
  const { jobId = 'digits', jobDir = 'digits', attempt = 1, replica = 'master-0' } = options;
  const { boot = 0, number = 1, kind = 'metrics' } = options;
  const digits = (value: number, count: number) => String(value).padStart(count, '0');
  const part = `attempt-${attempt}-${replica}-boot-${digits(boot, 4)}-${digits(number, 6)}.${kind}.jsonl.gz`;
  const name = `${jobDir}/${SERIES_PREFIX}${jobId}/${part}`;
  await objects.write({ bucket: 'jobs', name }, gzipSync(lines.map((line) => `${line}\n`).join('')));
  return name;
}
