import { CHANNELS_COUNT_MAX, NOTIFIED_STATES } from '#shared/domain/notification.ts';
import type { NotifyDraft } from '#shared/job-file/draft/notify-draft.ts';
import { type Field, type JobField, mappingSchema } from '#shared/job-file/fields/field.ts';
import { textList } from '#shared/job-file/fields/kind.ts';
import { mapping, property, type Row } from '#shared/job-file/fields/table.ts';
import { inJob } from '#shared/job-file/fields/targets.ts';

const CHANNELS = textList({
  type: 'array',
  maxItems: CHANNELS_COUNT_MAX,
  items: { type: 'string', pattern: '^[a-z][a-z0-9-]{0,30}$' },
});
const STATES = textList({ type: 'array', items: { enum: [...NOTIFIED_STATES] } });

const inNotify = property<NotifyDraft>();

/** The fields of `notify`. */
export const NOTIFY_FIELDS = {
  channels: {
    ...inNotify('channels', CHANNELS),
    description: 'Names of notification channels of the deployment; an empty list notifies none.',
    omitted: 'every channel whose label filter fits',
    examples: [['team']],
    synonyms: ['channel', 'webhooks'],
  },
  states: {
    ...inNotify('states', STATES),
    description: `The states to notify of: ${NOTIFIED_STATES.map((state) => `\`${state}\``).join(', ')}.`,
    omitted: 'those of the channel',
    examples: [['SUCCEEDED', 'FAILED']],
    synonyms: ['on', 'events'],
  },
} as const satisfies Readonly<Record<string, Field & Row<NotifyDraft>>>;

/** The row of `notify` in the table of a job file's fields. */
export const NOTIFY: JobField = {
  ...inJob(
    'notify',
    mapping<NotifyDraft>(NOTIFY_FIELDS, () => ({})),
  ),
  type: 'mapping',
  schema: mappingSchema(NOTIFY_FIELDS),
  description:
    'Where and when the job sends notifications: `channels` and `states`. Only channels that the deployment defines can be named.',
  omitted: 'what the channels of the deployment say',
  examples: [{ channels: ['team'], states: ['SUCCEEDED', 'FAILED'] }],
  synonyms: ['notifications', 'notificationSpec'],
  goesTo: { spec: 'notify', vm: null },
};
