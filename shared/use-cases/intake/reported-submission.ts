import type { ObjectName } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import type { StorageObject } from '#shared/protocol/stage-message.ts';

/** An upload or a message, and its report. */
export type ReportedSubmission = {
  /** URI of the upload or message. */
  readonly source: string;
  readonly reportObject: ObjectName;
  /** Generation of the upload; undefined for a message. */
  readonly generation: string | undefined;
};

export function reportedUpload({ bucket, name, generation }: StorageObject): ReportedSubmission {
  return { source: toGsUri({ bucket, name }), reportObject: { bucket, name: `${name}${REPORT_SUFFIX}` }, generation };
}

/** No other object names the report of a message, so it is found by the message's id. */
export function reportedMessage(bucket: string, messageId: string): ReportedSubmission {
  const reportObject = { bucket, name: `submitted/${messageId}${REPORT_SUFFIX}` };
  return { source: `pubsub://submit/${messageId}`, reportObject, generation: undefined };
}
