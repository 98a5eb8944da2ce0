/** One topic per stage, and those that users publish or subscribe to. */
export const TOPICS = [
  'uploads',
  'submit',
  'control',
  'provision',
  'teardown',
  'tuning',
  'job-updates',
  'tick',
  'interruptions',
  'dead-letters',
] as const;
export type Topic = (typeof TOPICS)[number];

/** Publishes messages. Delivery is at least once, unordered and possibly late. The data must be JSON. */
export type MessageBus = {
  /** Resolves with the message id once the message is durable. */
  publish(topic: Topic, data: object, attributes?: Readonly<Record<string, string>>): Promise<string>;
};
