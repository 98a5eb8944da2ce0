import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EVENT_FUNCTION_NAMES, topicOf } from '#functions/functions.ts';
import { TOPIC_PREFIX } from '#infra/google-cloud/pubsub/pubsub-message-bus.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import { TOPICS } from '#shared/ports/message-bus.ts';
import { SUBSCRIPTION_PREFIX } from '#shared/protocol/notification-channels.ts';
import { teardownMessageSchema } from '#shared/protocol/stage-message.ts';
import { type AppliedRoot, describeAppliedRoot, PROJECT } from '../support/terraform/applied-root.ts';

const readRoot = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** `notify` has a subscription per channel instead. */
const EVENT_FUNCTIONS = EVENT_FUNCTION_NAMES.filter((name) => name !== 'notify').map(
  (name) => [name, topicOf(name)] as const,
);

describeAppliedRoot(describeMessages);

function describeMessages({ all, find, configOf, topicOf, emailOf }: AppliedRoot) {
  describe('messages', () => {
    it('have all topics that the code publishes to', () => {
      const names = all('google_pubsub_topic').map(({ values }) => values.name);
      expect(names.sort()).toEqual(TOPICS.map((topic) => `${TOPIC_PREFIX}${topic}`).sort());
    });

    it('have one subscription per event function, and one per notification channel', () => {
      const subscribed = all('google_pubsub_subscription').map(({ key, values }) => [key, values.topic]);
      const channels = ['notify-team', 'notify-hooks'].map((name) => [name, topicOf('job-updates').id]);
      const own = EVENT_FUNCTIONS.map(([name, topic]) => [name, topicOf(topic).id]);
      expect(subscribed.sort()).toEqual([...own, ...channels].sort());
    });

    it.each(['team', 'hooks'])('reach the channel %s on a path that names it', (channel) => {
      const { uri } = configOf('notify');
      const name = `${TOPIC_PREFIX}${SUBSCRIPTION_PREFIX}${channel}`;
      expect(find('google_pubsub_subscription', `notify-${channel}`)).toMatchObject({
        name,
        push_config: [{ push_endpoint: `${uri}/projects/${PROJECT}/topics/${name}` }],
        dead_letter_policy: [{ dead_letter_topic: topicOf('dead-letters').id }],
        retry_policy: [{ minimum_backoff: '10s', maximum_backoff: '600s' }],
      });
    });

    it('pass no filter of a subscription: another one would replace the subscription, and delete what waits in it', () => {
      const filters = all('google_pubsub_subscription').filter(({ values }) =>
        /attributes/.test(String(values.filter)),
      );
      expect(filters.map(({ key }) => key)).toEqual([]);
    });

    it('that a channel does not take raise the alert on notifications, and none on functions and stages', () => {
      const filterOf = (policy: string) => {
        const [condition] = Object(find('google_monitoring_alert_policy', policy)).conditions as readonly {
          readonly condition_threshold: readonly [{ readonly filter: string }];
        }[];
        return condition?.condition_threshold[0].filter;
      };
      for (const policy of ['dead-letters', 'stuck-stage']) {
        expect(filterOf(policy)).toContain('"dropforge-provision"');
        expect(filterOf(policy)).not.toContain('dropforge-notify');
      }
      expect(filterOf('faults')).toContain('resource.labels.service_name!="dropforge-notify"');
      expect(filterOf('undelivered')).toContain('one_of("dropforge-notify-hooks","dropforge-notify-team")');
    });

    it.each(EVENT_FUNCTIONS)('reach %s from %s with a token, and a deadline longer than its timeout', (name, topic) => {
      const { uri, timeout_seconds: timeoutSeconds } = configOf(name);
      const subscription = find('google_pubsub_subscription', name);
      expect(subscription).toMatchObject({
        name: `${TOPIC_PREFIX}${topic}`,
        push_config: [
          {
            push_endpoint: `${uri}/${topicOf(topic).id}`,
            oidc_token: [{ service_account_email: emailOf('push'), audience: uri }],
          },
        ],
        expiration_policy: [{ ttl: '' }],
        retry_policy: [{ minimum_backoff: '10s', maximum_backoff: '600s' }],
      });
      expect(Number(subscription.ack_deadline_seconds)).toBeGreaterThan(Number(timeoutSeconds));
      expect(Number(subscription.ack_deadline_seconds)).toBeLessThanOrEqual(600);
    });

    it.each(EVENT_FUNCTIONS)('that %s cannot handle from %s are dead-lettered', (name, topic) => {
      const isLast = topic === 'dead-letters';
      const [policy] = Object(find('google_pubsub_subscription', name).dead_letter_policy) as readonly unknown[];
      const expected = { dead_letter_topic: topicOf('dead-letters').id, max_delivery_attempts: expect.any(Number) };
      expect(policy).toEqual(isLast ? undefined : expected);
      const agent = find('google_pubsub_subscription_iam_member', name);
      expect(agent.member).toBe(
        isLast ? undefined : 'serviceAccount:service-123456789012@gcp-sa-pubsub.iam.gserviceaccount.com',
      );
    });

    it('that are dead-lettered can be found in the log by the query of the runbook', () => {
      const [, logged = 'none'] = /log\('ERROR', '([^']+)'/.exec(readRoot('functions/on-dead-letter.ts')) ?? [];
      expect(readRoot('docs/runbook.md')).toContain(`jsonPayload.message="${logged}"`);
    });

    it('are published for finalized uploads', () => {
      const [notification] = all('google_storage_notification');
      expect(notification?.values).toMatchObject({
        bucket: `${PROJECT}-dropforge-uploads`,
        topic: topicOf('uploads').id,
        event_types: ['OBJECT_FINALIZE'],
        payload_format: 'JSON_API_V1',
      });
    });

    it('are published by the scheduler in the schema of the stages', () => {
      const targets = all('google_cloud_scheduler_job').map(({ values }) => {
        const [target] = values.pubsub_target as readonly { readonly topic_name: string; readonly data: string }[];
        return [target?.topic_name, JSON.parse(Buffer.from(target?.data ?? '', 'base64').toString())] as const;
      });
      const byTopic = new Map(targets);
      expect(byTopic.get(String(topicOf('tick').id))).toEqual({ type: 'TICK' });
      expect(teardownMessageSchema.parse(byTopic.get(String(topicOf('teardown').id)))).toEqual({ type: 'SWEEP' });
      expect(byTopic.size).toBe(2);
    });

    it('are published when Compute Engine preempts or loses a VM of a job', () => {
      const [sink] = all('google_logging_project_sink');
      const filter = String(sink?.values.filter);
      expect(sink?.values.destination).toBe(`pubsub.googleapis.com/${topicOf('interruptions').id}`);
      for (const method of ['preempted', 'hostError', 'terminateOnHostMaintenance', 'guestTerminate']) {
        expect(filter).toContain(`"compute.instances.${method}"`);
      }
      const prefix = /"\/instances\/([^"]+)"/.exec(filter)?.[1] ?? 'none';
      expect(vmNameOf('Job_1', 1, { role: 'master', index: 0 }).startsWith(prefix)).toBe(true);
    });
  });
}
