import * as z from 'zod';
import { NON_FINITE_VALUES } from '#shared/domain/replica.ts';

/**
 * The series of a job as the API returns them. PROGRAM: what its program reported. SYSTEM: what its agents measured on
 * the VMs, such as `cpu/fraction` or `gpu/0/utilization`.
 */
export const SERIES_KINDS = ['PROGRAM', 'SYSTEM'] as const;
export type SeriesKind = (typeof SERIES_KINDS)[number];

/** A page of a chart asks for this many at once. */
export const SERIES_PER_REQUEST_MAX = 50;
export const SERIES_POINTS_MAX = 4_000;
export const SERIES_POINTS_DEFAULT = 1_000;

const value = z.union([z.number(), z.enum(NON_FINITE_VALUES)]);

/** `GET /v1/jobs/JOB/metrics`: the names of all series, with their newest values. */
export const seriesIndexSchema = z.object({
  jobId: z.string(),
  /** Changes with every new point; also the ETag, so that `If-None-Match` is answered 304 while nothing changed. */
  revision: z.string(),
  series: z.array(
    z.object({
      name: z.string(),
      kind: z.enum(SERIES_KINDS),
      replica: z.string(),
      pointCount: z.int(),
      /** The unit of a system series, such as `bytes`, `fraction`, `watts` or `celsius`; null for a program's metric. */
      unit: z.string().nullable(),
      last: z.object({ attempt: z.int(), step: z.number().nullable(), at: z.number(), value }),
      /** The lowest and, as `max`, the highest of the finite values; null if there are none. */
      min: z.number().nullable(),
      max: z.number().nullable(),
    }),
  ),
  /** Series that exist beyond those listed, and points that were dropped because a limit was exceeded. */
  omitted: z.object({
    series: z.int(),
    points: z.int(),
    /** Objects or lines that no agent has written, and objects that were not read because of a limit. */
    objects: z.int().default(0),
  }),
});

/**
 * One series within one attempt, in columns of equal length, thinned out to the requested number of points, of which an
 * attempt gets its share if the series has several: the lowest
 * and the highest value of every stretch are kept, and so are the first, the last and those that are not finite.
 */
const seriesPointsSchema = z.object({
  name: z.string(),
  kind: z.enum(SERIES_KINDS),
  replica: z.string(),
  attempt: z.int(),
  /** The program's steps; the number of the report if it has none; null for system series. */
  steps: z.array(z.number()).nullable(),
  /** Milliseconds since the Unix epoch, by the VM's clock. */
  times: z.array(z.number()),
  values: z.array(value),
  /** Before thinning. */
  pointCount: z.int(),
});

/** `GET /v1/jobs/JOB/metrics/points?name=loss&name=…&kind=PROGRAM&replica=master-0&pointsMax=1000&from=…&to=…` */
export const seriesPageSchema = z.object({
  jobId: z.string(),
  revision: z.string(),
  /** By attempt, then by name. */
  series: z.array(seriesPointsSchema),
});

export type SeriesIndex = z.infer<typeof seriesIndexSchema>;
export type SeriesPoints = z.infer<typeof seriesPointsSchema>;
export type SeriesPage = z.infer<typeof seriesPageSchema>;

/** The value as JSON can hold it. */
export function toSeriesValue(number: number): SeriesPoints['values'][number] {
  if (Number.isFinite(number)) {
    return number;
  }
  return Number.isNaN(number) ? 'NaN' : number > 0 ? 'Infinity' : '-Infinity';
}
