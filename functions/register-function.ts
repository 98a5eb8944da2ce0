import { type HttpFunction, http } from '@google-cloud/functions-framework';
import { type EventFunctionName, type FunctionName, isEventFunction, topicOf } from '#functions/functions.ts';
import { type PushedMessage, readPush } from '#functions/pushed-message.ts';
import { RedeliverLater } from '#functions/redeliver-later.ts';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import { type Invocation, invocations, readTraceId, traceIdOf } from '#shared/observability/invocation.ts';
import { logThrown } from '#shared/observability/log-thrown.ts';
import type { Logger } from '#shared/observability/logger.ts';

type MessageHandler = (message: PushedMessage) => Promise<void>;

export type HandlerOf<Name extends FunctionName> = Name extends EventFunctionName ? MessageHandler : HttpFunction;

/**
 * Registers a handler with the functions-framework under the function's name. Functions with a topic are pushed its
 * messages: returning acknowledges one with 204, throwing has it redelivered.
 */
export function registerFunction<Name extends FunctionName>(
  name: Name,
  logger: Logger,
  handler: HandlerOf<Name>,
): void {
  http(
    name,
    isEventFunction(name)
      ? receivePushes(name, logger, handler as MessageHandler)
      : (request, response) => {
          const traceId = readTraceId(request.header('traceparent'));
          const handle = () => (handler as HttpFunction)(request, response);
          return runLogged({ service: name, traceId }, { logger, response, handle });
        },
  );
}

function receivePushes(name: EventFunctionName, logger: Logger, handler: MessageHandler): HttpFunction {
  return (request, response) => {
    if (request.method !== 'POST') {
      return void response.sendStatus(405);
    }
    const message = readPush(request.body);
    return runLogged(invocationOf(name, message), {
      logger,
      response,
      async handle() {
        if ('problem' in message) {
          logger.log('ERROR', 'push carries no message', message);
        } else {
          await handler(message);
        }
        response.status(204).end();
      },
    });
  };
}

function invocationOf(service: EventFunctionName, message: ReturnType<typeof readPush>): Invocation {
  const topic = topicOf(service);
  if ('problem' in message) {
    return { service, fields: { topic } };
  }
  const { messageId, deliveryAttempt, attributes, content } = message;
  const named = [attributes.jobId, Object(content).jobId, Object(content).tuningId];
  const jobId = named.find((id) => typeof id === 'string' && JOB_ID_PATTERN.test(id));
  // Before its job is known, an upload's trace has all deliveries of its message.
  const traceId = readTraceId(attributes.traceparent) ?? traceIdOf(jobId ?? `message ${messageId}`);
  return { service, jobId, traceId, fields: { messageId, deliveryAttempt, topic } };
}

type Run = {
  readonly logger: Logger;
  readonly response: Parameters<HttpFunction>[1];
  readonly handle: () => unknown;
};

/** Logs what the handler throws and answers 500. The framework never sees it: it would print the stack as plain text. */
function runLogged(invocation: Invocation, { logger, response, handle }: Run): Promise<void> {
  return invocations.run(invocation, async () => {
    try {
      await handle();
    } catch (thrown) {
      if (thrown instanceof RedeliverLater) {
        logger.log('INFO', 'message is redelivered later', { problem: thrown.message });
      } else {
        logThrown(logger, thrown);
      }
      if (!response.headersSent) {
        response.sendStatus(500);
      }
    }
  });
}
