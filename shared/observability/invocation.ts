import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';

/** The fields that all lines of one invocation of a function share. */
export type Invocation = {
  /** The function. */
  readonly service: string;
  /** The job that the message or request names. */
  jobId?: string | undefined;
  /** The trace of lines that name no job: 32 hexadecimal digits. */
  readonly traceId?: string | undefined;
  /** The fields that identify the message, on every line of severity ERROR. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
};

export const invocations = new AsyncLocalStorage<Invocation>();

/** The lines of this invocation that name no other job are about this one, the error that ends it included. */
export function nameJob(jobId: string): void {
  const invocation = invocations.getStore();
  if (invocation !== undefined) {
    invocation.jobId = jobId;
  }
}

/** The trace id of a job or tuning: derived from its id, so that every process knows it without reading the record. */
export function traceIdOf(jobId: string): string {
  return digestOf(jobId).slice(0, 32);
}

/** The attributes of a message about a job; `traceparent` is that of W3C's Trace Context, with the job as the span. */
export function attributesOf(jobId: string): { readonly jobId: string; readonly traceparent: string } {
  return { jobId, traceparent: `00-${traceIdOf(jobId)}-${digestOf(jobId).slice(32, 48)}-01` };
}

/** The trace id in a `traceparent`; undefined if it is missing or invalid. */
export function readTraceId(traceparent: string | undefined): string | undefined {
  return /^[\da-f]{2}-(?!0{32})([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/.exec(traceparent ?? '')?.[1];
}

function digestOf(jobId: string): string {
  return createHash('sha256').update(`job ${jobId}`).digest('hex');
}
