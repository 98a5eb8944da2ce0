import { HTTPException } from 'hono/http-exception';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import { nameJob } from '#shared/observability/invocation.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import { readSubmitted, type Submitted } from '#shared/ports/read-submitted.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';

/** The job or tuning that a path names. Throws the answer 400 for an invalid id, and 404 if there is none. */
export async function readRequested(
  ports: { readonly jobs: JobStore; readonly tunings: TuningStore },
  given: string,
): Promise<Submitted> {
  const jobId = readJobId(given);
  const submitted = await readSubmitted(ports, jobId);
  if (submitted === undefined) {
    throw errorResponse(404, `Job ${jobId} does not exist.`, 'List the jobs to see their ids: dropforge jobs list.');
  }
  return submitted;
}

export function readJobId(given: string): string {
  if (!JOB_ID_PATTERN.test(given)) {
    throw errorResponse(
      400,
      `${given} is not a valid job id.`,
      'A job id is a letter, followed by up to 127 letters, digits or underscores.',
    );
  }
  nameJob(given);
  return given;
}

export function readCount(given: string | undefined, fallback: number, max: number): number {
  if (given === undefined) {
    return fallback;
  }
  const count = Number(given);
  if (!Number.isSafeInteger(count) || count < 1 || count > max) {
    throw errorResponse(400, `${given} is not an integer from 1 to ${max}.`, 'Correct the query parameter.');
  }
  return count;
}

export function errorResponse(
  status: 400 | 403 | 404 | 409 | 413 | 416,
  message: string,
  remedy: string,
): HTTPException {
  return new HTTPException(status, { res: Response.json(errorBody(status, message, remedy), { status }) });
}

export function errorBody(code: number, message: string, remedy: string) {
  return { error: { code, message, remedy } };
}
