import { type CloudEvent, cloudEvent, http } from '@google-cloud/functions-framework';
import { createApi } from '#functions/api.ts';
import type { FunctionPorts } from '#functions/function-ports.ts';
import { createHeartbeat } from '#functions/heartbeat.ts';
import { logErrors } from '#functions/log-errors.ts';
import { createOnControl } from '#functions/on-control.ts';
import { createOnDeadLetter } from '#functions/on-dead-letter.ts';
import { createOnInterruption } from '#functions/on-interruption.ts';
import { createOnSubmit } from '#functions/on-submit.ts';
import { createOnUpload } from '#functions/on-upload.ts';
import { createProvision } from '#functions/provision.ts';
import { createReport } from '#functions/report.ts';
import { createTeardown } from '#functions/teardown.ts';
import { createWatch } from '#functions/watch.ts';
import type { Topic } from '#shared/ports/message-bus.ts';

/** Which function hears which topic. */
export const SUBSCRIPTIONS = {
  'on-upload': 'uploads',
  'on-submit': 'submit',
  'on-control': 'control',
  provision: 'provision',
  teardown: 'teardown',
  watch: 'tick',
  'on-interruption': 'interruptions',
  report: 'job-updates',
  'on-dead-letter': 'dead-letters',
} as const satisfies Readonly<Record<string, Topic>>;

export type EventFunctionName = keyof typeof SUBSCRIPTIONS;

/** The functions with an HTTP door of their own: VMs', and users'. */
export const HTTP_FUNCTIONS = ['heartbeat', 'api'] as const;

export type HttpFunctionName = (typeof HTTP_FUNCTIONS)[number];

/** Every function, by the name under which it is deployed. */
export type FunctionName = EventFunctionName | HttpFunctionName;

const EVENT_FUNCTIONS: Readonly<Record<EventFunctionName, (ports: FunctionPorts) => EventHandler>> = {
  'on-upload': createOnUpload,
  'on-submit': createOnSubmit,
  'on-control': createOnControl,
  provision: createProvision,
  teardown: createTeardown,
  watch: createWatch,
  'on-interruption': createOnInterruption,
  report: createReport,
  'on-dead-letter': createOnDeadLetter,
};

type EventHandler = (event: CloudEvent<unknown>) => Promise<void>;

/** Every function of Dropforge, by the name under which it is deployed. */
export function registerFunctions(ports: FunctionPorts): void {
  for (const [name, create] of Object.entries(EVENT_FUNCTIONS)) {
    const handler = logErrors(name, ports.logger, create(ports));
    // The framework takes a handler for one with a callback unless it declares exactly one parameter.
    cloudEvent(name, (event: CloudEvent<unknown>) => handler(event));
  }
  const heartbeat = logErrors('heartbeat', ports.logger, createHeartbeat(ports));
  http('heartbeat', (request, response) => heartbeat(request, response));
  const api = logErrors('api', ports.logger, createApi(ports));
  http('api', (request, response) => api(request, response));
}
