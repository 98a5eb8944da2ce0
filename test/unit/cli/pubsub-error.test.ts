import { describe, expect, it } from 'vitest';
import { describePubsubError } from '../../../cli/client/pubsub-error.ts';

const topic = 'projects/p/topics/dropforge-job-updates';

function failWith(code: number | undefined, message: string): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

describe('an error of Pub/Sub', () => {
  it.each([
    [
      failWith(7, 'No.'),
      'publish to',
      /not allowed to publish to \S+ \(403\): .* submitters \(roles\/pubsub\.publisher/,
    ],
    [failWith(7, 'No.'), 'subscribe to', /not allowed to subscribe to \S+ \(403\): .* update_followers\.$/],
    [failWith(5, 'No.'), 'subscribe to', /does not exist \(404\): run `terraform apply`/],
    [failWith(16, 'No.'), 'publish to', /gcloud auth application-default login/],
    [failWith(undefined, 'Could not load the default credentials.'), 'publish to', /application-default login/],
    [failWith(14, 'Connection refused.'), 'publish to', /failed to publish to \S+: Connection refused\.$/],
    ['No.', 'publish to', /failed to publish to \S+: No\.$/],
  ] as const)('%s says what to do: %s', (error, verb, sentence) => {
    expect(describePubsubError(error, { topic, verb })).toMatch(sentence);
  });
});
