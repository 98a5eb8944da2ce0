import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { ObjectTooLargeError } from '#infra/embedded/cloud-storage/store/blob-directory.ts';
import { ChecksumMismatchError } from '#infra/embedded/cloud-storage/store/stored-object.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';

/** An error as Cloud Storage classifies it; clients branch on status and reason. */
export type StorageErrorType = {
  readonly status: ContentfulStatusCode;
  readonly reason: string;
  /** The code of the same error in the XML API. */
  readonly xmlCode: string;
};

/** Source: https://cloud.google.com/storage/docs/json_api/v1/status-codes */
const ERRORS = {
  INVALID: { status: 400, reason: 'invalid', xmlCode: 'InvalidArgument' },
  NOT_FOUND: { status: 404, reason: 'notFound', xmlCode: 'NoSuchKey' },
  NO_BUCKET: { status: 404, reason: 'notFound', xmlCode: 'NoSuchBucket' },
  /** Not 404, which gcloud reports as a missing bucket. Not 501, which clients retry. */
  NOT_SUPPORTED: { status: 405, reason: 'methodNotAllowed', xmlCode: 'MethodNotAllowed' },
  ALREADY_EXISTS: { status: 409, reason: 'conflict', xmlCode: 'BucketNameUnavailable' },
  CONFLICT: { status: 412, reason: 'conditionNotMet', xmlCode: 'PreconditionFailed' },
  TOO_LARGE: { status: 413, reason: 'uploadTooLarge', xmlCode: 'EntityTooLarge' },
  RANGE: { status: 416, reason: 'requestedRangeNotSatisfiable', xmlCode: 'InvalidRange' },
  INTERNAL: { status: 500, reason: 'backendError', xmlCode: 'InternalError' },
  BUSY: { status: 503, reason: 'backendError', xmlCode: 'SlowDown' },
} as const satisfies Readonly<Record<string, StorageErrorType>>;

export type StorageErrorCode = keyof typeof ERRORS;

/** An error for a handler to throw; the error handler renders the response. */
export function storageError(code: StorageErrorCode, message: string): HTTPException {
  const { status } = ERRORS[code];
  return new HTTPException(status, { message, cause: code });
}

/** Why the store rejected a request. */
export type StoreRejection = 'NO_BUCKET' | 'NO_OBJECT' | 'CONFLICT';

/** A rejection by the store as an HTTP error. */
export function rejectionError(outcome: StoreRejection, { bucket, name }: ObjectName): HTTPException {
  switch (outcome) {
    case 'NO_BUCKET':
      return storageError('NO_BUCKET', `The bucket ${bucket} does not exist. Create it first.`);
    case 'NO_OBJECT':
      return storageError('NOT_FOUND', `No such object: ${bucket}/${name}`);
    case 'CONFLICT':
      return storageError(
        'CONFLICT',
        `A precondition on ${bucket}/${name} did not hold. Read the object again before you retry.`,
      );
  }
}

/** Returns the store's result, or throws the HTTP error if the store rejected the request. */
export function unwrapOutcome<T extends object>(outcome: T | StoreRejection, target: ObjectName): T {
  if (typeof outcome === 'string') {
    throw rejectionError(outcome, target);
  }
  return outcome;
}

export type ErrorHandler = (error: Error, context: Context) => Response;

/** Renders an error as the response. Internal errors are reported to the operator too, client errors are not. */
export function createErrorHandler(render: typeof renderJson, reportError: (error: Error) => void): ErrorHandler {
  return (error, context) => {
    const { code, message } = classifyError(error);
    if (code === 'INTERNAL') {
      reportError(error);
    }
    return render(context, ERRORS[code], message);
  };
}

function classifyError(error: Error): { readonly code: StorageErrorCode; readonly message: string } {
  if (error instanceof HTTPException && typeof error.cause === 'string' && error.cause in ERRORS) {
    return { code: error.cause as StorageErrorCode, message: error.message };
  }
  if (error instanceof ChecksumMismatchError) {
    return { code: 'INVALID', message: error.message };
  }
  // Thrown by readBoundedText.
  if (error instanceof HTTPException && error.status === ERRORS.TOO_LARGE.status) {
    return { code: 'TOO_LARGE', message: error.message };
  }
  if (error instanceof ObjectTooLargeError) {
    return { code: 'TOO_LARGE', message: error.message };
  }
  return {
    code: 'INTERNAL',
    message: 'The object store failed. Try again; the reason is in the log of the embedded cloud.',
  };
}

export function renderJson(context: Context, { status, reason }: StorageErrorType, message: string): Response {
  const locations = reason === 'conditionNotMet' ? { locationType: 'header', location: 'If-Match' } : {};
  return context.json(
    { error: { code: status, message, errors: [{ message, domain: 'global', reason, ...locations }] } },
    status,
  );
}
