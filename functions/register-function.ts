import type { EventEmitter } from 'node:events';
import { type HttpFunction, http } from '@google-cloud/functions-framework';
import { type EventFunctionName, type FunctionName, isEventFunction, topicOf } from '#functions/functions.ts';
import {
  MalformedMessage,
  type PushedMessage,
  pushSchema,
  RedeliverLater,
  readOrThrow,
} from '#functions/pushed-message.ts';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import { type Invocation, invocations, readTraceId, traceIdOf } from '#shared/observability/invocation.ts';
import { logThrown } from '#shared/observability/log-thrown.ts';
import type { Logger } from '#shared/observability/logger.ts';

type MessageHandler = (message: PushedMessage) => Promise<void>;

export type HandlerOf<Name extends FunctionName> = Name extends EventFunctionName ? MessageHandler : HttpFunction;

/**
 * Registers a handler with the functions-framework under the function's name. A function with a topic is pushed its
 * messages: returning acknowledges one with 204, throwing has it redelivered. The framework sees no error, since it
 * would print the stack as plain text, which cannot be searched by field.
 */
export function registerFunction<Name extends FunctionName>(
  name: Name,
  logger: Logger,
  handler: HandlerOf<Name>,
): void {
  http(name, (request, response) => {
    const pushed = isEventFunction(name) ? pushSchema.safeParse(request.body) : undefined;
    const traceId = readTraceId(request.header('traceparent'));
    const invocation = isEventFunction(name) ? invocationOf(name, pushed?.data) : { service: name, traceId };
    const fail = (thrown: unknown) => {
      const status = invocations.run(invocation, () => logFailure(logger, thrown));
      if (!response.headersSent) {
        response.sendStatus(status);
      }
    };
    // An exception in a callback reaches the framework's domain of the request, not the handler.
    (Object(process).domain as EventEmitter | null)?.removeAllListeners('error').on('error', fail);
    return invocations.run(invocation, async () => {
      try {
        if (pushed === undefined) {
          await (handler as HttpFunction)(request, response);
        } else {
          await (handler as MessageHandler)(readOrThrow(pushed));
          response.status(204).end();
        }
      } catch (thrown) {
        fail(thrown);
      }
    });
  });
}

/** Logs what a handler throws, and returns the status of the answer. */
function logFailure(logger: Logger, thrown: unknown): number {
  if (thrown instanceof MalformedMessage) {
    logger.log('ERROR', 'message is malformed', { problem: thrown.message });
    return 204;
  }
  if (thrown instanceof RedeliverLater) {
    logger.log('INFO', 'message is redelivered later', { problem: thrown.message });
  } else {
    logThrown(logger, thrown);
  }
  return 500;
}

function invocationOf(service: EventFunctionName, message: PushedMessage | undefined): Invocation {
  const { messageId, deliveryAttempt, attributes, content } = message ?? {};
  const named = [attributes?.jobId, Object(content).jobId, Object(content).tuningId];
  const jobId = named.find((id) => typeof id === 'string' && JOB_ID_PATTERN.test(id));
  // Until an upload's job is known, its trace is that of all deliveries of the message.
  const traceId = readTraceId(attributes?.traceparent) ?? traceIdOf(jobId ?? `message ${messageId}`);
  return { service, jobId, traceId, fields: { messageId, deliveryAttempt, topic: topicOf(service) } };
}
