import * as z from 'zod';
import { CHANNELS_COUNT_MAX, NOTIFIED_STATES, NOTIFIED_STATES_DEFAULT } from '#shared/domain/notification.ts';

/** Secret Manager, "projects.secrets.create": secretId. Of the deployment's own project; the latest version is read. */
const secretName = z.string().regex(/^[A-Za-z0-9_-]{1,255}$/, 'must be the name of a secret, not its value');

const RECIPIENTS_COUNT_MAX = 20;

const common = {
  /** The secret that holds the address: of the webhook, or of the SMTP server with its password. */
  secret: secretName,
  states: z
    .array(z.enum(NOTIFIED_STATES))
    .min(1)
    .default([...NOTIFIED_STATES_DEFAULT]),
  /** Only jobs with all of these labels, unless the job names the channel. */
  labels: z.record(z.string(), z.string()).default({}),
  /** Whether the trials of tunings notify, too; the tuning always does. */
  trials: z.boolean().default(false),
};

const channelSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['slack', 'teams', 'discord', 'google-chat']), ...common }),
  /** `signingSecret` is the secret that holds the key of the signature. */
  z.strictObject({ kind: z.literal('webhook'), signingSecret: secretName, ...common }),
  z.strictObject({
    kind: z.literal('email'),
    from: z.email(),
    to: z.array(z.email()).min(1).max(RECIPIENTS_COUNT_MAX),
    ...common,
  }),
]);

/** A channel's name is part of the name of its subscription. */
export const CHANNEL_NAME_PATTERN = /^[a-z][a-z0-9-]{0,30}$/;

/** The channels of a deployment, by name. None of them holds an address: addresses are secrets. */
export const notificationChannelsSchema = z
  .record(
    z.string().regex(CHANNEL_NAME_PATTERN, 'must be lowercase letters, digits and "-", at most 31'),
    channelSchema,
  )
  .refine((channels) => Object.keys(channels).length <= CHANNELS_COUNT_MAX, `at most ${CHANNELS_COUNT_MAX} channels`);

export type NotificationChannel = z.infer<typeof channelSchema>;
export type NotificationChannels = Readonly<Record<string, NotificationChannel>>;

/** The subscription of a channel, without the prefix of the deployment: each channel has its own (docs/notifications.md). */
export const SUBSCRIPTION_PREFIX = 'notify-';
