/** The topics of the pipeline: one for each stage, and those that users publish to or listen on. */
export const TOPICS = [
  'uploads',
  'submit',
  'control',
  'provision',
  'teardown',
  'job-updates',
  'tick',
  'interruptions',
  'dead-letters',
] as const;
export type Topic = (typeof TOPICS)[number];

/** Publishes; delivery is at least once, in any order, possibly late. The data must be JSON and is never empty. */
export type MessageBus = {
  /** Resolves with the message id once the message will outlive a crash. */
  publish(topic: Topic, data: object, attributes?: Readonly<Record<string, string>>): Promise<string>;
};
