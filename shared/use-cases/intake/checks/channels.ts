import { locationOf } from '#shared/job-file/parser/findings.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';
import type { Check } from '#shared/use-cases/intake/checks/check.ts';

/** A name in a message: what is longer is not a channel. */
const NAME_CHARACTERS_MAX = 60;

/** Whether the deployment defines the notification channels that the job names. */
export const checkChannels: Check = ({ draft: { notify } }, { intake: { notificationChannels } }) => {
  const known = notificationChannels.length === 0 ? 'none' : notificationChannels.join(', ');
  const unknown = (notify?.channels ?? []).filter(({ value }) => !notificationChannels.includes(value));
  const problems = unknown.map((channel) => ({
    code: 'UNKNOWN_CHANNEL',
    // Not quoted: someone may have written the address of a webhook, which is a credential.
    message: /^[a-z0-9-]+$/.test(channel.value)
      ? `The deployment has no notification channel ${channel.value.slice(0, NAME_CHARACTERS_MAX)}.`
      : `${channel.path} is not the name of a notification channel. Addresses cannot be given in a job file.`,
    remedy: `${didYouMean(channel.value, notificationChannels)}Name one of this deployment's channels (${known}), or leave notify out.`,
    ...locationOf(channel),
  }));
  return { problems };
};
