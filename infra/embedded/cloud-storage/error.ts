import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { ObjectTooLargeError } from '#infra/embedded/cloud-storage/store/blob-directory.ts';
import { ChecksumMismatchError } from '#infra/embedded/cloud-storage/store/stored-object.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';

/** What Cloud Storage calls the fault; clients branch on status and reason. */
export type StorageProblem = {
  readonly status: ContentfulStatusCode;
  readonly reason: string;
  /** The code of the same fault in the XML API. */
  readonly xmlCode: string;
};

/** Source: https://cloud.google.com/storage/docs/json_api/v1/status-codes */
const PROBLEMS = {
  INVALID: { status: 400, reason: 'invalid', xmlCode: 'InvalidArgument' },
  NOT_FOUND: { status: 404, reason: 'notFound', xmlCode: 'NoSuchKey' },
  NO_BUCKET: { status: 404, reason: 'notFound', xmlCode: 'NoSuchBucket' },
  /** Not 404: gcloud would say that the bucket is not there. Nor 501, which clients try again and again. */
  NOT_OFFERED: { status: 405, reason: 'methodNotAllowed', xmlCode: 'MethodNotAllowed' },
  ALREADY_EXISTS: { status: 409, reason: 'conflict', xmlCode: 'BucketNameUnavailable' },
  CONFLICT: { status: 412, reason: 'conditionNotMet', xmlCode: 'PreconditionFailed' },
  TOO_LARGE: { status: 413, reason: 'uploadTooLarge', xmlCode: 'EntityTooLarge' },
  RANGE: { status: 416, reason: 'requestedRangeNotSatisfiable', xmlCode: 'InvalidRange' },
  FAULT: { status: 500, reason: 'backendError', xmlCode: 'InternalError' },
  BUSY: { status: 503, reason: 'backendError', xmlCode: 'SlowDown' },
} as const satisfies Readonly<Record<string, StorageProblem>>;

export type ProblemCode = keyof typeof PROBLEMS;

/** To be thrown by a handler; `answerError` makes the answer of it. */
export function refusal(code: ProblemCode, message: string): HTTPException {
  const { status } = PROBLEMS[code];
  return new HTTPException(status, { message, cause: code });
}

export type Refusal = 'NO_BUCKET' | 'NO_OBJECT' | 'CONFLICT';

/** The refusal of the store, as an error of the door. */
export function refusalOf(outcome: Refusal, { bucket, name }: ObjectName): HTTPException {
  switch (outcome) {
    case 'NO_BUCKET':
      return refusal('NO_BUCKET', `The bucket ${bucket} does not exist. Create it first.`);
    case 'NO_OBJECT':
      return refusal('NOT_FOUND', `No such object: ${bucket}/${name}`);
    case 'CONFLICT':
      return refusal('CONFLICT', `A precondition on ${bucket}/${name} did not hold. Read the object and decide anew.`);
  }
}

/** What the store made of a request, if it was not refused. */
export function acceptOutcome<T extends object>(outcome: T | Refusal, target: ObjectName): T {
  if (typeof outcome === 'string') {
    throw refusalOf(outcome, target);
  }
  return outcome;
}

export type ErrorAnswerer = (error: Error, context: Context) => Response;

/** Faults of the store itself go to the operator too; what the client did wrong goes to the client alone. */
export function answerErrors(render: typeof renderJson, reportFault: (error: Error) => void): ErrorAnswerer {
  return (error, context) => {
    const { code, message } = explain(error);
    if (code === 'FAULT') {
      reportFault(error);
    }
    return render(context, PROBLEMS[code], message);
  };
}

function explain(error: Error): { readonly code: ProblemCode; readonly message: string } {
  if (error instanceof HTTPException && typeof error.cause === 'string' && error.cause in PROBLEMS) {
    return { code: error.cause as ProblemCode, message: error.message };
  }
  if (error instanceof ChecksumMismatchError) {
    return { code: 'INVALID', message: error.message };
  }
  // As the shared readers of requests throw it.
  if (error instanceof HTTPException && error.status === PROBLEMS.TOO_LARGE.status) {
    return { code: 'TOO_LARGE', message: error.message };
  }
  if (error instanceof ObjectTooLargeError) {
    return { code: 'TOO_LARGE', message: error.message };
  }
  return { code: 'FAULT', message: 'The object store failed. Try again; its operator finds the reason in its log.' };
}

export function renderJson(context: Context, { status, reason }: StorageProblem, message: string): Response {
  const locations = reason === 'conditionNotMet' ? { locationType: 'header', location: 'If-Match' } : {};
  return context.json(
    { error: { code: status, message, errors: [{ message, domain: 'global', reason, ...locations }] } },
    status,
  );
}
