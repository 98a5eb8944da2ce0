import { text as textOf } from 'node:stream/consumers';
import type { ObjectName, ObjectStore } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';
import { REPORT_SUFFIX, type Report, reportSchema } from '#shared/protocol/report.ts';

const WRITE_TRIES_MAX = 5;

/** What a report is going to tell of. */
export type ReportSubject = {
  /** The report beside the upload: `NAME.report.json`. */
  readonly beside: ObjectName;
  /** The upload's; undefined for what was no upload, whose report has a name that nothing else can have. */
  readonly generation: string | undefined;
  /** The job that was accepted; null for every other verdict. */
  readonly acceptedJobId: string | null;
};

type Found = { readonly objectGeneration: string; readonly report: Report | undefined };

/**
 * Writes a report to where it belongs. Beside the upload stands what is true of the newest upload of that name. The job
 * of an earlier one has its report at `NAME.GENERATION.report.json`, which the report beside the upload names: it is
 * put there before it is replaced, and what becomes of that job is written there.
 *
 * `tell` is called with what stands there now, and what is written is guarded by the generation it replaces: of two
 * writers the one with older news tries again. It resolves with null where that stays. Resolves with whether something
 * was written.
 */
export async function updateReport(
  objects: ObjectStore,
  subject: ReportSubject,
  tell: (present: Report | undefined) => Promise<Report | null>,
): Promise<boolean> {
  for (let writeTry = 1; writeTry <= WRITE_TRIES_MAX; writeTry += 1) {
    const beside = await find(objects, subject.beside);
    const isBeside = !isOvertaken(subject, beside.report);
    const place = isBeside ? subject.beside : ownPlaceOf(subject.beside, subject.generation);
    const present = isBeside ? beside : await find(objects, place);
    const told = await tell(present.report);
    if (told === null) {
      return false;
    }
    const earlierReport = isBeside ? await keepEarlier(objects, subject, beside.report) : present.report?.earlierReport;
    const generation = newerOf(present.report?.generation, subject.generation);
    const report = { ...told, generation, earlierReport };
    if ((await writeReport(objects, place, { report, ifGeneration: present.objectGeneration })) !== 'CONFLICT') {
      return true;
    }
  }
  throw new Error(`${toGsUri(subject.beside)} kept changing while it was written; it will be tried again.`);
}

/** Whether the report beside the upload tells of something newer that is not the same job. */
function isOvertaken(subject: ReportSubject, report: Report | undefined): boolean {
  const { generation } = subject;
  return generation !== undefined && !isOfSameJob(subject, report) && isNewer(report?.generation, generation);
}

export function isNewer(generation: string | undefined, than: string): boolean {
  return generation !== undefined && BigInt(generation) > BigInt(than);
}

/** The same package again, uploaded once more, is the job of both. */
function newerOf(one: string | undefined, other: string | undefined): string | undefined {
  return one !== undefined && other !== undefined && isNewer(one, other) ? one : other;
}

function isOfSameJob({ acceptedJobId }: ReportSubject, report: Report | undefined): boolean {
  return report?.verdict === 'ACCEPTED' && report.jobId === acceptedJobId;
}

/** Sees to it that the job of which the report beside the upload has told keeps one; resolves with its address. */
async function keepEarlier(
  objects: ObjectStore,
  subject: ReportSubject,
  report: Report | undefined,
): Promise<string | undefined> {
  if (report?.verdict !== 'ACCEPTED' || isOfSameJob(subject, report) || report.generation === undefined) {
    return report?.earlierReport;
  }
  const place = ownPlaceOf(subject.beside, report.generation);
  // One that is there already is the job's own, with later news.
  await writeReport(objects, place, { report, ifGeneration: '0' });
  return toGsUri(place);
}

function ownPlaceOf({ bucket, name }: ObjectName, generation = '0'): ObjectName {
  return { bucket, name: `${name.slice(0, -REPORT_SUFFIX.length)}.${generation}${REPORT_SUFFIX}` };
}

async function find(objects: ObjectStore, object: ObjectName): Promise<Found> {
  const objectGeneration = (await objects.stat(object))?.generation ?? '0';
  const bytes = objectGeneration === '0' ? undefined : await objects.read(object, { generation: objectGeneration });
  const parsed = bytes === undefined ? undefined : reportSchema.safeParse(parseJson(await textOf(bytes)));
  return { objectGeneration, report: parsed?.data };
}

function writeReport(
  objects: ObjectStore,
  object: ObjectName,
  { report, ifGeneration }: { readonly report: Report; readonly ifGeneration: string },
) {
  const body = Buffer.from(`${JSON.stringify(report, null, 2)}\n`);
  return objects.write(object, body, { contentType: 'application/json', ifGeneration });
}
