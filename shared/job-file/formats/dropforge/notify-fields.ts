import { CHANNELS_COUNT_MAX, NOTIFIED_STATES } from '#shared/domain/notification.ts';
import type { NotifyDraft } from '#shared/job-file/draft/notify-draft.ts';
import {
  custom,
  type Field,
  type JobField,
  mappingSchema,
  rulesOf,
  synonymsOf,
} from '#shared/job-file/fields/field.ts';
import { textList } from '#shared/job-file/fields/kind.ts';
import type { Findings } from '#shared/job-file/parser/findings.ts';
import { openMapping, type ParentLookup } from '#shared/job-file/parser/open-mapping.ts';
import { type FoundNode, isEmpty } from '#shared/job-file/parser/read-values.ts';

const CHANNELS = textList({
  type: 'array',
  maxItems: CHANNELS_COUNT_MAX,
  items: { type: 'string', pattern: '^[a-z][a-z0-9-]{0,30}$' },
});
const STATES = textList({ type: 'array', items: { enum: [...NOTIFIED_STATES] } });

/** The fields of `notify`. */
export const NOTIFY_FIELDS = {
  channels: {
    type: CHANNELS.type,
    schema: CHANNELS.schema,
    description: 'Names of notification channels of the deployment; an empty list notifies none.',
    omitted: 'every channel whose label filter fits',
    examples: [['team']],
    synonyms: ['channel', 'webhooks'],
  },
  states: {
    type: STATES.type,
    schema: STATES.schema,
    description: `The states to notify of: ${NOTIFIED_STATES.map((state) => `\`${state}\``).join(', ')}.`,
    omitted: 'those of the channel',
    examples: [['SUCCEEDED', 'FAILED']],
    synonyms: ['on', 'events'],
  },
} as const satisfies Readonly<Record<string, Field>>;

const NOTIFY_MESSAGE = { rules: rulesOf(NOTIFY_FIELDS), synonyms: synonymsOf(NOTIFY_FIELDS) };

/** The row of `notify` in the table of a job file's fields. `parentOf` knows the other fields of the job. */
export function notifyField(parentOf: ParentLookup): JobField {
  return custom(
    { type: 'mapping', schema: mappingSchema(NOTIFY_FIELDS) },
    {
      description:
        'Where and when the job sends notifications: `channels` and `states`. Only channels that the deployment defines can be named.',
      omitted: 'what the channels of the deployment say',
      examples: [{ channels: ['team'], states: ['SUCCEEDED', 'FAILED'] }],
      synonyms: ['notifications', 'notificationSpec'],
      goesTo: { spec: 'notify', vm: null },
      read: (draft, found, findings) => ({ ...draft, notify: found && readNotify(found, parentOf, findings) }),
    },
  );
}

function readNotify(found: FoundNode, parentOf: ParentLookup, findings: Findings): NotifyDraft | undefined {
  if (isEmpty(found.node, found.path, findings)) {
    return undefined;
  }
  const notify = openMapping(found, { ...NOTIFY_MESSAGE, parentOf }, findings);
  return { channels: CHANNELS.read(notify.channels, findings), states: STATES.read(notify.states, findings) };
}
