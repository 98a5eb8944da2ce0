import { buffer } from 'node:stream/consumers';
import type { TimestampMs } from '#shared/domain/job.ts';
import { isSingleFileName } from '#shared/package/archive/archive-format.ts';
import { packageSourceOf } from '#shared/package/archive/package-source.ts';
import { inspectPackage, type PackageReport } from '#shared/package/inspect-package.ts';
import type { ObjectInfo, ObjectName, ObjectStore } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { readSentJob } from '#shared/protocol/job-text.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import type { InspectedPackage } from '#shared/use-cases/intake/checks/check.ts';
import { describeMissingJobFile } from '#shared/use-cases/intake/missing-job-file.ts';
import { type ParsedJob, parseJob } from '#shared/use-cases/intake/parsed-job.ts';
import {
  COMPOSITE_PART_NAME,
  isAtRoot,
  isNamedAsJobFile,
  isReportedAlone,
  JOB_FILE_NAME,
  PACKAGE_NAME,
} from '#shared/use-cases/intake/upload-names.ts';

/** An object that was finalized in a bucket, and when the message about it was published. */
export type Upload = ObjectName & { readonly generation: string; readonly publishedAt?: TimestampMs | undefined };

/** A job file to submit: an object of its own, or the one at the root of an uploaded package. */
export type UploadedJobFile = ParsedJob & {
  /** The upload beside which the report is written. */
  readonly upload: ObjectInfo;
  readonly enclosingPackage: InspectedPackage | null;
};

/** Job files to submit, or a report beside the upload; undefined if the upload is not a submission. */
export type UploadClass =
  | { readonly jobFiles: readonly UploadedJobFile[] }
  | {
      readonly upload: ObjectInfo;
      /** REFUSED if the upload is invalid; WAITING for a valid package that no job file names yet. */
      readonly verdict: 'REFUSED' | 'WAITING';
      readonly problems: readonly Problem[];
      readonly warnings: readonly Problem[];
    }
  | undefined;

/** Job files are written by hand; a larger file is something else. */
const JOB_FILE_BYTES_MAX = 1_048_576;

/** Limits on the search for job files that wait for a package. */
const WAITING_JOB_FILES_MAX = 50;
const FOLDER_PAGE_OBJECTS = 1_000;
const FOLDER_PAGES_MAX = 10;
/** A file, its report, and one that is neither. */
const LONE_FILE_OBJECTS_MAX = 3;

/** A key that occurs only in job files, found even if the rest of the file cannot be parsed. */
const FIELD_OF_JOB_FILES = /^[\s{"'-]*(trainingInput|training_input|workerPoolSpecs|worker_pool_specs)["']?\s*:/m;

/**
 * Decides what an upload is, by its name and content; reads, and changes nothing. Throws if an object is deleted while
 * it is read.
 */
export async function classifyUpload(objects: ObjectStore, upload: Upload): Promise<UploadClass> {
  if (upload.name.endsWith(REPORT_SUFFIX) || COMPOSITE_PART_NAME.test(upload.name)) {
    return undefined;
  }
  const info = await objects.stat(upload, upload.generation);
  if (info === undefined) {
    return undefined;
  }
  if (JOB_FILE_NAME.test(info.name)) {
    return classifyJobFile(objects, info);
  }
  if (PACKAGE_NAME.test(info.name)) {
    return classifyPackage(objects, info);
  }
  if (isSingleFileName(info.name)) {
    // Sources are also uploaded with folders: a job file that names one makes it a package.
    const jobFiles = await findWaitingJobFiles(objects, info);
    if (jobFiles.length > 0) {
      return { jobFiles };
    }
  }
  return (await isReported(objects, info)) ? classifyPackage(objects, info) : undefined;
}

/** Whether a file that is no submission by its name was uploaded by itself, not with the folder that it is in. */
async function isReported(objects: ObjectStore, { bucket, name }: ObjectInfo): Promise<boolean> {
  if (isAtRoot(name) || !isReportedAlone(name)) {
    return isAtRoot(name);
  }
  const neighbors = await objects.list({ bucket, prefix: folderOf(name), countMax: LONE_FILE_OBJECTS_MAX });
  return neighbors.every((neighbor) => neighbor.name === name || neighbor.name === `${name}${REPORT_SUFFIX}`);
}

async function classifyJobFile(objects: ObjectStore, upload: ObjectInfo): Promise<UploadClass> {
  if (upload.sizeBytes > JOB_FILE_BYTES_MAX) {
    const message = `${toGsUri(upload)} has ${upload.sizeBytes} bytes; a job file may have at most ${JOB_FILE_BYTES_MAX}.`;
    const remedy = 'Put data into the package or into a separate bucket.';
    return { upload, verdict: 'REFUSED', problems: [{ code: 'JOB_FILE_TOO_LARGE', message, remedy }], warnings: [] };
  }
  const parsed = await readParsedJob(objects, upload);
  if (isJobFile(parsed, upload.name)) {
    return { jobFiles: [{ ...parsed, upload, enclosingPackage: null }] };
  }
  if (!isAtRoot(upload.name)) {
    return undefined;
  }
  const message = `${upload.name} starts nothing: it has no field of a job file, such as module, image or trainingInput.`;
  const remedy = 'Name a job file job.yaml, or put data into a folder or a separate bucket.';
  const foreign = parsed.reading.problems.find(({ code }) => code === 'FILE_OF_OTHER_TOOL');
  const problem = foreign ?? { code: 'NOT_A_JOB_FILE', message, remedy };
  return { upload, verdict: 'REFUSED', problems: [problem], warnings: [] };
}

async function classifyPackage(objects: ObjectStore, upload: ObjectInfo): Promise<UploadClass> {
  const report = await inspectPackage(packageSourceOf(objects, upload));
  const { problems, warnings } = report;
  if (problems.length > 0) {
    return { upload, verdict: 'REFUSED', problems, warnings };
  }
  const enclosed = findEnclosedJobFile(report);
  if (enclosed !== undefined) {
    const enclosingPackage = { uri: toGsUri(upload), info: upload, report };
    return { jobFiles: [{ ...enclosed.parsed, upload, enclosingPackage }] };
  }
  const jobFiles = await findWaitingJobFiles(objects, upload);
  if (jobFiles.length > 0) {
    return { jobFiles };
  }
  const missing = describeMissingJobFile(fileNameOf(upload.name));
  return { upload, verdict: 'WAITING', problems: [missing], warnings };
}

/** The job file at the root of a package, with a job id that replaces its own. */
export function findEnclosedJobFile({ jobFiles }: PackageReport, jobId?: string) {
  for (const { path, text } of jobFiles) {
    const parsed = parseJob({ ...readSentJob(Buffer.from(text), path), jobId });
    if (isJobFile(parsed, path)) {
      return { fileName: path, text, parsed };
    }
  }
  return undefined;
}

/**
 * YAML and JSON files are also uploaded with packages and directories. A job file is called job.yaml or job.json,
 * requests training, or would if it could be parsed.
 */
function isJobFile({ job, reading: { draft, problems } }: ParsedJob, name: string): boolean {
  const isBroken = problems.length > 0 && FIELD_OF_JOB_FILES.test(Buffer.from(job.jobFile ?? '').toString('latin1'));
  return isNamedAsJobFile(name) || draft !== null || isBroken;
}

/** Job files in the package's folder that name it. */
export async function findWaitingJobFiles(
  objects: ObjectStore,
  upload: ObjectName,
): Promise<readonly UploadedJobFile[]> {
  const packageName = fileNameOf(upload.name);
  const namesOfPackage = [toGsUri(upload), packageName, `./${packageName}`];
  const waiting: UploadedJobFile[] = [];
  for (const info of await listJobFiles(objects, upload)) {
    const parsed = await readParsedJob(objects, info);
    const named = (parsed.reading.draft?.pools ?? []).flatMap(({ program }) => program.packageUris ?? []);
    if (named.some(({ value }) => namesOfPackage.includes(value))) {
      waiting.push({ ...parsed, upload: info, enclosingPackage: null });
    }
  }
  return waiting;
}

/**
 * Objects with the name of a job file directly in the upload's folder, among the first FOLDER_PAGES_MAX pages of it.
 */
async function listJobFiles(objects: ObjectStore, { bucket, name }: ObjectName): Promise<readonly ObjectInfo[]> {
  const prefix = folderOf(name);
  const jobFiles: ObjectInfo[] = [];
  let after: string | undefined;
  for (let page = 0; page < FOLDER_PAGES_MAX && jobFiles.length < WAITING_JOB_FILES_MAX; page += 1) {
    const query = { bucket, prefix, countMax: FOLDER_PAGE_OBJECTS, ...(after === undefined ? {} : { after }) };
    const found = await objects.list(query);
    jobFiles.push(
      ...found.filter((object) => {
        const isDirectlyInFolder = !object.name.slice(prefix.length).includes('/');
        const isJobFileName = JOB_FILE_NAME.test(object.name) && !object.name.endsWith(REPORT_SUFFIX);
        return isDirectlyInFolder && isJobFileName && object.sizeBytes <= JOB_FILE_BYTES_MAX;
      }),
    );
    after = found.at(-1)?.name;
    if (found.length < FOLDER_PAGE_OBJECTS) {
      break;
    }
  }
  return jobFiles.slice(0, WAITING_JOB_FILES_MAX);
}

async function readParsedJob(objects: ObjectStore, info: ObjectInfo): Promise<ParsedJob> {
  const bytes = await objects.read(info, { generation: info.generation });
  if (bytes === undefined) {
    throw new Error(`${toGsUri(info)}#${info.generation} was deleted while it was read. The upload is retried.`);
  }
  return parseJob(readSentJob(await buffer(bytes), fileNameOf(info.name)));
}

export function fileNameOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

/** The part of an object's name up to and including its last slash; empty at the root of the bucket. */
export function folderOf(name: string): string {
  return name.slice(0, name.lastIndexOf('/') + 1);
}
