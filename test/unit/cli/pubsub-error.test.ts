import { describe, expect, it } from 'vitest';
import { describePubsubError } from '../../../cli/client/pubsub-error.ts';

const topic = 'projects/p/topics/dropforge-submit';

function failWith(code: number | undefined, message: string): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

describe('an error of Pub/Sub', () => {
  it.each([
    [failWith(7, 'No.'), /not allowed to publish to \S+ \(403\): .* submitters \(roles\/pubsub\.publisher/],
    [failWith(5, 'No.'), /does not exist \(404\): run `terraform apply`/],
    [failWith(16, 'No.'), /gcloud auth application-default login/],
    [failWith(undefined, 'Could not load the default credentials.'), /application-default login/],
    [failWith(14, 'Connection refused.'), /failed to publish to \S+: Connection refused\.$/],
    ['No.', /failed to publish to \S+: No\.$/],
  ] as const)('%s says what to do: %s', (error, sentence) => {
    expect(describePubsubError(error, topic)).toMatch(sentence);
  });
});
