import { buffer } from 'node:stream/consumers';
import { jobUpdateOf } from '#shared/domain/effect.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { packageSourceOf } from '#shared/package/archive/package-source.ts';
import { inspectPackage, type PackageReport } from '#shared/package/inspect-package.ts';
import type { ObjectInfo, ObjectName } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { type Problem, REPORT_SUFFIX, type Report } from '#shared/protocol/report.ts';
import {
  type Submission,
  type SubmitOutcome,
  type SubmitPorts,
  submitJob,
} from '#shared/use-cases/intake/submit-job.ts';
import { updateReport } from '#shared/use-cases/reports/update-report.ts';

/** A job file is text that a person wrote; what is larger is something else. */
const JOB_FILE_BYTES_MAX = 1_048_576;

/** Job files beside a package that are looked into when it arrives after them. */
const NEIGHBOURS_MAX = 50;
const FOLDER_PAGE_OBJECTS = 1_000;
const FOLDER_PAGES_MAX = 10;

const JOB_FILE_NAME = /\.(ya?ml|json)$/i;
const PACKAGE_NAME = /\.(tar\.gz|tgz|tar|zip|whl|tar\.bz2|tbz2?|tar\.xz|txz|tar\.zst|7z|rar)$/i;
const CANONICAL_JOB_FILE_NAME = /(^|\/)job\.(ya?ml|json)$/i;

/** A key that nothing but a job file has, whatever of the rest can be read. */
const FIELD_OF_JOB_FILES = /^[\s{"'-]*(trainingInput|training_input|workerPoolSpecs|worker_pool_specs)["']?\s*:/m;

/**
 * Parts of a large upload that gcloud puts together afterwards (`parallel_composite_upload`): none of them is an
 * upload.
 */
const COMPOSITE_PART_NAME = /(^|\/)parallel_composite_uploads\//;

type Upload = ObjectName & { readonly generation: string };

/**
 * Takes an object that was finished in the upload bucket. A job file is submitted, and so is a package with a job file
 * in its root; a package that a job file beside it waits for wakes that one. The verdict is written beside the upload;
 * other files are none of our business.
 */
export async function handleUpload(
  ports: SubmitPorts,
  upload: Upload,
  now: TimestampMs,
): Promise<SubmitOutcome | undefined> {
  const isOurs = upload.bucket === ports.intake.uploadBucket;
  if (!isOurs || upload.name.endsWith(REPORT_SUFFIX) || COMPOSITE_PART_NAME.test(upload.name)) {
    return undefined;
  }
  const info = await ports.objects.stat(upload, upload.generation);
  if (info === undefined) {
    return undefined;
  }
  if (JOB_FILE_NAME.test(info.name)) {
    return takeJobFile(ports, info, now);
  }
  return PACKAGE_NAME.test(info.name) ? takePackage(ports, info, now) : undefined;
}

async function takeJobFile(ports: SubmitPorts, info: ObjectInfo, now: TimestampMs): Promise<SubmitOutcome | undefined> {
  if (info.sizeBytes > JOB_FILE_BYTES_MAX) {
    const message = `${toGsUri(info)} has ${info.sizeBytes} bytes; a job file may have ${JOB_FILE_BYTES_MAX}.`;
    const problem = {
      code: 'JOB_FILE_TOO_LARGE',
      message,
      remedy: 'Put data into the package or a bucket of its own.',
    };
    return tell(ports, info, { verdict: 'REFUSED', jobId: null, problems: [problem], warnings: [] });
  }
  const text = await readText(ports, info);
  return isJobFile(text, info.name)
    ? tell(ports, info, await submitJob(ports, { ...submissionOf(info, now), text }))
    : undefined;
}

/**
 * Other YAML and JSON files come with packages and whole directories; only one that asks for training is a submission,
 * or that would if it could be read.
 */
function isJobFile(text: Uint8Array, name: string): boolean {
  if (CANONICAL_JOB_FILE_NAME.test(name)) {
    return true;
  }
  const { draft, problems } = readJobFile(text, { fileName: fileNameOf(name) });
  return draft !== null || (problems.length > 0 && FIELD_OF_JOB_FILES.test(Buffer.from(text).toString('latin1')));
}

async function takePackage(ports: SubmitPorts, info: ObjectInfo, now: TimestampMs): Promise<SubmitOutcome> {
  const report = await inspectPackage(packageSourceOf(ports.objects, info));
  const jobFile = report.jobFiles.find(({ path, text }) => isJobFile(Buffer.from(text), path));
  if (jobFile !== undefined && report.problems.length === 0) {
    const submission = {
      ...submissionOf(info, now),
      text: Buffer.from(jobFile.text),
      fileName: jobFile.path,
      enclosingPackage: { uri: toGsUri(info), generation: info.generation, report },
    };
    return tell(ports, info, await submitJob(ports, submission));
  }
  if (report.problems.length > 0) {
    const { problems, warnings } = report;
    return tell(ports, info, { verdict: 'REFUSED', jobId: null, problems, warnings });
  }
  return (await wakeNeighbours(ports, info, now)) ?? tell(ports, info, waitForJobFile(info, report));
}

/** Job files that came first and have waited for this package are judged again; their own reports say how. */
async function wakeNeighbours(
  ports: SubmitPorts,
  info: ObjectInfo,
  now: TimestampMs,
): Promise<SubmitOutcome | undefined> {
  const prefix = folderOf(info.name);
  const fileName = fileNameOf(info.name);
  const ownNames = [toGsUri(info), fileName, `./${fileName}`];
  const jobFiles = await listJobFiles(ports, info.bucket, prefix);
  let outcome: SubmitOutcome | undefined;
  for (const jobFile of jobFiles) {
    const { draft } = readJobFile(await readText(ports, jobFile), { fileName: fileNameOf(jobFile.name) });
    const packages = draft?.pools.flatMap(({ program }) => program.packageUris ?? []) ?? [];
    const named = packages.map(({ value }) => value);
    if (ownNames.some((name) => named.includes(name))) {
      outcome = await takeJobFile(ports, jobFile, now);
    }
  }
  return outcome;
}

/** The job files directly in a folder, however full it is of other things. */
async function listJobFiles(ports: SubmitPorts, bucket: string, prefix: string): Promise<readonly ObjectInfo[]> {
  const jobFiles: ObjectInfo[] = [];
  let after: string | undefined;
  for (let page = 0; page < FOLDER_PAGES_MAX && jobFiles.length < NEIGHBOURS_MAX; page += 1) {
    const query = { bucket, prefix, countMax: FOLDER_PAGE_OBJECTS, ...(after === undefined ? {} : { after }) };
    const objects = await ports.objects.list(query);
    jobFiles.push(
      ...objects.filter(({ name, sizeBytes }) => {
        const isBeside = !name.slice(prefix.length).includes('/') && !name.endsWith(REPORT_SUFFIX);
        return isBeside && JOB_FILE_NAME.test(name) && sizeBytes <= JOB_FILE_BYTES_MAX;
      }),
    );
    after = objects.at(-1)?.name;
    if (objects.length < FOLDER_PAGE_OBJECTS) {
      break;
    }
  }
  return jobFiles.slice(0, NEIGHBOURS_MAX);
}

function waitForJobFile(info: ObjectInfo, { warnings }: PackageReport): SubmitOutcome {
  const fileName = fileNameOf(info.name);
  const problem: Problem = {
    code: 'JOB_FILE_MISSING',
    message: `${fileName} is a sound package, and says nothing of how to run it: it has no job.yaml in its root.`,
    remedy: `Upload a job.yaml beside it that names ${fileName} under trainingInput.packageUris, or pack one into its root.`,
  };
  return { verdict: 'WAITING', jobId: null, problems: [problem], warnings };
}

function submissionOf(info: ObjectInfo, now: TimestampMs): Omit<Submission, 'text'> {
  return {
    fileName: fileNameOf(info.name),
    packageBase: `gs://${info.bucket}/${folderOf(info.name)}`,
    enclosingPackage: null,
    fallbackJobId: fallbackJobIdOf(info),
    source: { uri: toGsUri(info), deliveryId: info.generation, reportUri: `${toGsUri(info)}${REPORT_SUFFIX}` },
    now,
  };
}

/** An id for a job that was given none: its file's name and generation, so that a second delivery has the same. */
function fallbackJobIdOf({ name, generation }: ObjectInfo): string {
  const stem = fileNameOf(name).replace(/\.(tar\.gz|[a-z0-9]+)$/i, '');
  const letters = stem
    .replace(/\W+/g, '_')
    .replace(/^[^A-Za-z]+/, '')
    .slice(0, 100);
  return `${letters === '' ? 'job' : letters}_${generation}`;
}

/**
 * Writes the verdict beside the upload. A job that was accepted is reported by its own announcements; only where the
 * report there is about something else, it makes way at once.
 */
async function tell(ports: SubmitPorts, info: ObjectInfo, outcome: SubmitOutcome): Promise<SubmitOutcome> {
  const beside = { bucket: info.bucket, name: `${info.name}${REPORT_SUFFIX}` };
  if (outcome.verdict !== 'ACCEPTED') {
    await reportRefusal(ports, beside, { source: toGsUri(info), generation: info.generation, outcome });
    return outcome;
  }
  const { jobId } = outcome;
  const subject = { beside, generation: info.generation, acceptedJobId: jobId };
  const hasReplaced = await updateReport(ports.objects, subject, async (present) => {
    const isTold = present === undefined || (present.verdict === 'ACCEPTED' && present.jobId === jobId);
    return isTold ? null : reportOf(toGsUri(info), outcome);
  });
  const job = hasReplaced ? (await ports.jobs.read(jobId))?.job : undefined;
  if (job !== undefined) {
    // It may have been accepted long ago, and have no news of its own any more.
    await ports.bus.publish('job-updates', jobUpdateOf(job));
  }
  return outcome;
}

/** What was refused, or waits; a message has no generation. */
type RefusalOf = {
  readonly source: string;
  readonly generation?: string;
  readonly outcome: Exclude<SubmitOutcome, { verdict: 'ACCEPTED' }>;
};

/**
 * Writes what was wrong with a submission, or what it still waits for. One that was accepted stays so: told of it
 * again, intake may find a package gone that the job has had.
 */
export async function reportRefusal(
  ports: SubmitPorts,
  beside: ObjectName,
  { source, generation, outcome }: RefusalOf,
): Promise<void> {
  const subject = { beside, generation, acceptedJobId: null };
  await updateReport(ports.objects, subject, async (present) => {
    const isAccepted = present?.verdict === 'ACCEPTED' && present.generation === generation;
    return isAccepted ? null : reportOf(source, outcome);
  });
}

function reportOf(source: string, outcome: SubmitOutcome): Report {
  const { verdict, jobId } = outcome;
  const { problems, warnings } = verdict === 'ACCEPTED' ? { problems: [], warnings: [] } : outcome;
  return { verdict, source, jobId, problems: [...problems], warnings: [...warnings], job: null };
}

async function readText({ objects }: SubmitPorts, info: ObjectInfo): Promise<Uint8Array> {
  const bytes = await objects.read(info, { generation: info.generation });
  if (bytes === undefined) {
    throw new Error(`${toGsUri(info)}#${info.generation} was deleted while it was read; it will be tried again.`);
  }
  return buffer(bytes);
}

function fileNameOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

function folderOf(name: string): string {
  return name.slice(0, name.lastIndexOf('/') + 1);
}
