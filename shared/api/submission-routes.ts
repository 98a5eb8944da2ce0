import type { Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type * as z from 'zod';
import { callerOf } from '#shared/api/identify-callers.ts';
import { errorBody, errorResponse } from '#shared/api/request.ts';
import type { Clock } from '#shared/ports/clock.ts';
import { readSubmitted } from '#shared/ports/read-submitted.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import {
  SUBMITTED_JOB_FILE_BYTES_MAX,
  startUploadSchema,
  submitJobFileSchema,
  UPLOAD_PART_BYTES_MAX,
  uploadIdSchema,
  uploadPartSchema,
  validateUploadSchema,
} from '#shared/protocol/submission.ts';
import type { SubmitOutcome } from '#shared/use-cases/intake/check-submission.ts';
import type { SubmitPorts } from '#shared/use-cases/intake/submit-job.ts';
import { logVerdict } from '#shared/use-cases/log-lines.ts';
import { type ViewPorts, viewSubmitted } from '#shared/views/view-submitted.ts';

export type SubmissionPorts = SubmitPorts & ViewPorts & { readonly clock: Clock };

/** A job file as JSON text takes up to six bytes per character. */
const JSON_BYTES_MAX = 6 * SUBMITTED_JOB_FILE_BYTES_MAX;

const PART_LIMIT = limitBody(UPLOAD_PART_BYTES_MAX, 'Split the upload into smaller parts.');
const JSON_LIMIT = limitBody(JSON_BYTES_MAX, 'Put data into the package or into a bucket.');

/**
 * Submissions: a job file, or a package that is uploaded in parts, validated, and started. The use cases are loaded by
 * the first submission: most starts of the API read only.
 */
export function routeSubmissions(app: Hono, ports: SubmissionPorts): void {
  app.post('/v1/jobs', JSON_LIMIT, async (context) => {
    const submittedBy = callerOf(context);
    const given = await readBody(context, submitJobFileSchema);
    const { submitJobFile } = await import('#shared/use-cases/submission/submit-job-file.ts');
    return answerOutcome(ports, context, await submitJobFile(ports, { ...given, submittedBy }, ports.clock.now()));
  });

  app.put('/v1/uploads/:uploadId/parts/:part', PART_LIMIT, async (context) => {
    const uploadId = readUploadId(context.req.param('uploadId'));
    const part = uploadPartSchema.safeParse(context.req.param('part'));
    if (!part.success || context.req.header('content-type') !== 'application/octet-stream') {
      throw errorResponse(400, 'This is not a valid part of an upload.', 'Send its bytes as application/octet-stream.');
    }
    const { stagePart } = await import('#shared/use-cases/submission/staged-upload.ts');
    const body = new Uint8Array(await context.req.arrayBuffer());
    await stagePart(ports, { uploadId, part: part.data, body });
    return context.json({ uploadId, part: part.data });
  });

  app.post('/v1/uploads/:target{.+:validate}', JSON_LIMIT, async (context) => {
    const uploadId = readUploadId(context.req.param('target').replace(/:validate$/, ''));
    const given = await readBody(context, validateUploadSchema);
    const { validateUpload } = await import('#shared/use-cases/submission/validate-upload.ts');
    const verdict = await validateUpload(ports, { ...given, uploadId }, ports.clock.now());
    return context.json(verdict ?? rejectIncomplete(uploadId));
  });

  app.post('/v1/uploads/:target{.+:start}', JSON_LIMIT, async (context) => {
    const submittedBy = callerOf(context);
    const uploadId = readUploadId(context.req.param('target').replace(/:start$/, ''));
    const given = await readBody(context, startUploadSchema);
    const { startUpload } = await import('#shared/use-cases/submission/start-upload.ts');
    const submission = { ...given, uploadId, submittedBy };
    const outcome = await startUpload(ports, submission, ports.clock.now());
    return answerOutcome(ports, context, outcome ?? rejectIncomplete(uploadId));
  });
}

/** The view of the job that was started; otherwise the problems with 400, or 503 if they may pass in a few minutes. */
async function answerOutcome(ports: SubmissionPorts, context: Context, outcome: SubmitOutcome): Promise<Response> {
  logVerdict(ports.logger, { verdict: outcome.verdict, jobId: outcome.jobId });
  if (outcome.verdict !== 'ACCEPTED') {
    const { jobId, problems, warnings } = outcome;
    const [first] = problems;
    const message = first?.message ?? 'The job was rejected.';
    // Nothing is redelivered to the API: who called it may repeat the request.
    const status = outcome.isTransient ? 503 : 400;
    return context.json({ ...errorBody(status, message, first?.remedy ?? ''), jobId, problems, warnings }, status);
  }
  const submitted = await readSubmitted(ports, outcome.jobId);
  if (submitted === undefined) {
    throw new Error(`Job ${outcome.jobId} was accepted and cannot be read.`);
  }
  const view: JobView = await viewSubmitted(ports, submitted, ports.clock.now());
  return context.json(view);
}

function rejectIncomplete(uploadId: string): never {
  const remedy = 'Upload the package again: uploads that were not started are deleted after two days.';
  throw errorResponse(404, `Parts of upload ${uploadId} are missing.`, remedy);
}

function readUploadId(given: string): string {
  const parsed = uploadIdSchema.safeParse(given);
  if (!parsed.success) {
    throw errorResponse(400, `${given} is not a valid upload id.`, 'Use 16 to 40 lowercase letters and digits.');
  }
  return parsed.data;
}

/** Parses a JSON body. A form of another page cannot send this content type without permission (CORS). */
async function readBody<Schema extends z.ZodType>(context: Context, schema: Schema): Promise<z.infer<Schema>> {
  const isJson = context.req.header('content-type')?.startsWith('application/json') === true;
  const body: unknown = isJson ? await context.req.json().catch(() => undefined) : undefined;
  const parsed = schema.safeParse(body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = issue === undefined || issue.path.length === 0 ? 'The body' : issue.path.join('.');
    const remedy = 'Send JSON as docs/dashboard.md describes, with content-type application/json.';
    throw errorResponse(400, `${where} is not valid (${issue?.message ?? 'not JSON'}).`, remedy);
  }
  return parsed.data;
}

function limitBody(maxSize: number, remedy: string) {
  return bodyLimit({
    maxSize,
    onError: () => {
      throw errorResponse(413, `The request has more than ${maxSize} bytes.`, remedy);
    },
  });
}
