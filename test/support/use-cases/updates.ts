import type { UpdatePublisher } from '#shared/ports/update-publisher.ts';
import { createUpdatePublisher, type UpdatePorts } from '#shared/views/job-update.ts';

/** Publishes no job update, for tests that do not look at them. */
export const noUpdates: UpdatePublisher = { publish: async () => undefined };

/** The ports, and a publisher of job updates over them. */
export function withUpdates<Ports extends UpdatePorts>(ports: Ports): Ports & { readonly updates: UpdatePublisher } {
  return { ...ports, updates: createUpdatePublisher(ports) };
}
