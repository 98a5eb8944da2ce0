import { expect, it } from 'vitest';
import { emailOf } from '#cli/client/identity-token.ts';

const headersOf = (claims: object) => ({
  'x-dropforge-identity': `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.sig`,
});

it('the folder of a user is named after the address in the user’s own token, in lowercase', () => {
  expect(emailOf(headersOf({ email: 'Ada@Example.com' }))).toBe('ada@example.com');
});

it.each([[headersOf({ sub: '1' })], [{ 'x-dropforge-identity': 'no-token' }], [{}]])(
  'a token without an address has no folder: %j',
  (headers) => {
    expect(() => emailOf(headers)).toThrow('gcloud auth login');
  },
);
