import { text as textOf } from 'node:stream/consumers';
import type { ObjectName, ObjectStore } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';
import { REPORT_SUFFIX, type Report, reportSchema } from '#shared/protocol/report.ts';

const WRITE_TRIES_MAX = 5;

/** The subject of a report. */
export type ReportSubject = {
  /** The report object beside the upload: `NAME.report.json`. */
  readonly reportObject: ObjectName;
  /** Generation of the upload; undefined for a message, whose report has a unique name. */
  readonly generation: string | undefined;
  /** The job that was accepted; null for every other verdict. */
  readonly acceptedJobId: string | null;
};

type StoredReport = { readonly objectGeneration: string; readonly report: Report | undefined };

/**
 * Writes a report. The report beside an upload is about the newest upload of that name. The job of an earlier upload
 * has its report at `NAME.GENERATION.report.json`, named by `earlierReport`: it is copied there before the report
 * beside the upload is replaced, and updated there from then on.
 *
 * `render` gets the current report and returns the next one, or null to keep it. The write is conditional on the
 * generation that was read, so that of two concurrent writers one retries. Returns whether a report was written.
 */
export async function updateReport(
  objects: ObjectStore,
  subject: ReportSubject,
  render: (current: Report | undefined) => Promise<Report | null>,
): Promise<boolean> {
  for (let writeTry = 1; writeTry <= WRITE_TRIES_MAX; writeTry += 1) {
    const uploadReport = await find(objects, subject.reportObject);
    const isNewest = !isSuperseded(subject, uploadReport.report);
    const target = isNewest ? subject.reportObject : ownReportOf(subject.reportObject, subject.generation);
    const current = isNewest ? uploadReport : await find(objects, target);
    const rendered = await render(current.report);
    if (rendered === null) {
      return false;
    }
    const earlierReport = isNewest
      ? await keepEarlier(objects, subject, uploadReport.report)
      : current.report?.earlierReport;
    const generation = newerOf(current.report?.generation, subject.generation);
    const report = { ...rendered, generation, earlierReport };
    if ((await writeReport(objects, target, { report, ifGeneration: current.objectGeneration })) !== 'CONFLICT') {
      return true;
    }
  }
  throw new Error(`${toGsUri(subject.reportObject)} kept changing while it was written. The message is redelivered.`);
}

/** Whether the report beside the upload is about a newer upload that is not the same job. */
function isSuperseded(subject: ReportSubject, report: Report | undefined): boolean {
  const { generation } = subject;
  return generation !== undefined && !isOfSameJob(subject, report) && isNewer(report?.generation, generation);
}

export function isNewer(generation: string | undefined, than: string): boolean {
  return generation !== undefined && BigInt(generation) > BigInt(than);
}

/** The same package uploaded again belongs to the same job: the report carries the newer generation. */
function newerOf(one: string | undefined, other: string | undefined): string | undefined {
  return one !== undefined && other !== undefined && isNewer(one, other) ? one : other;
}

function isOfSameJob({ acceptedJobId }: ReportSubject, report: Report | undefined): boolean {
  return report?.verdict === 'ACCEPTED' && report.jobId === acceptedJobId;
}

/**
 * Copies a report that is about another job to that job's own report. Returns its URI, or the current `earlierReport`.
 */
async function keepEarlier(
  objects: ObjectStore,
  subject: ReportSubject,
  report: Report | undefined,
): Promise<string | undefined> {
  if (report?.verdict !== 'ACCEPTED' || isOfSameJob(subject, report) || report.generation === undefined) {
    return report?.earlierReport;
  }
  const target = ownReportOf(subject.reportObject, report.generation);
  // A report that exists already is more recent.
  await writeReport(objects, target, { report, ifGeneration: '0' });
  return toGsUri(target);
}

function ownReportOf({ bucket, name }: ObjectName, generation = '0'): ObjectName {
  return { bucket, name: `${name.slice(0, -REPORT_SUFFIX.length)}.${generation}${REPORT_SUFFIX}` };
}

async function find(objects: ObjectStore, object: ObjectName): Promise<StoredReport> {
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
