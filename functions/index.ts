import { cloudEvent, http } from '@google-cloud/functions-framework';
import { createApi } from '#functions/api.ts';
import type { FunctionPorts } from '#functions/function-ports.ts';
import { createHeartbeat } from '#functions/heartbeat.ts';
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
  report: 'events',
  'on-dead-letter': 'dead-letters',
} as const satisfies Readonly<Record<string, Topic>>;

export type EventFunctionName = keyof typeof SUBSCRIPTIONS;

/** The functions with an HTTP door of their own: VMs', and users'. */
export const HTTP_FUNCTIONS = ['heartbeat', 'api'] as const;

/** Every function of Dropforge, by the name under which it is deployed. */
export function registerFunctions(ports: FunctionPorts): void {
  cloudEvent('on-upload', createOnUpload(ports));
  cloudEvent('on-submit', createOnSubmit(ports));
  cloudEvent('on-control', createOnControl(ports));
  cloudEvent('provision', createProvision(ports));
  cloudEvent('teardown', createTeardown(ports));
  cloudEvent('watch', createWatch(ports));
  cloudEvent('on-interruption', createOnInterruption(ports));
  cloudEvent('report', createReport(ports));
  cloudEvent('on-dead-letter', createOnDeadLetter(ports));
  http('heartbeat', createHeartbeat(ports));
  http('api', createApi(ports));
}
