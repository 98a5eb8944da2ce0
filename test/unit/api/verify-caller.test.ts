import { createLocalJWKSet, exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { createCallerIdentifier, GCLOUD_AUDIENCE, IAP_ISSUER } from '#shared/api/verify-caller.ts';

const GOOGLE = 'https://accounts.google.com';
const API = 'https://api.test';
const IAP_AUDIENCE = '/projects/1/global/backendServices/2';
const ADA = { email: 'Ada@example.com', email_verified: true };

const google = await generateKeyPair('RS256');
const iap = await generateKeyPair('ES256');
const stranger = await generateKeyPair('RS256');

const jwksOf = async (key: CryptoKey, alg: string) =>
  createLocalJWKSet({ keys: [{ ...(await exportJWK(key)), kid: 'k', alg, use: 'sig' }] });
const issuers = {
  identity: {
    jwks: await jwksOf(google.publicKey, 'RS256'),
    issuer: GOOGLE,
    audiences: [API, GCLOUD_AUDIENCE],
    algorithm: 'RS256',
  },
  iap: {
    jwks: await jwksOf(iap.publicKey, 'ES256'),
    issuer: IAP_ISSUER,
    audiences: [IAP_AUDIENCE],
    algorithm: 'ES256',
  },
} as const;
const identify = createCallerIdentifier(issuers);

const now = () => Math.floor(Date.now() / 1_000);
const claims = (change: JWTPayload) => ({ iss: GOOGLE, aud: API, iat: now(), exp: now() + 3_600, ...ADA, ...change });
const sign = (change: JWTPayload = {}, key = google.privateKey) =>
  new SignJWT(claims(change)).setProtectedHeader({ alg: 'RS256', kid: 'k' }).sign(key);
const assert = (change: JWTPayload = {}) =>
  new SignJWT(claims({ iss: IAP_ISSUER, aud: IAP_AUDIENCE, email_verified: undefined, ...change }))
    .setProtectedHeader({ alg: 'ES256', kid: 'k' })
    .sign(iap.privateKey);

const callerOf = (headers: Readonly<Record<string, string>>) => identify(new Headers(headers));
const callerOfToken = async (token: string) => callerOf({ 'x-dropforge-identity': token });

describe('the caller of the API', () => {
  it('is the address of a signed identity token, for the API or of gcloud', async () => {
    expect(await callerOfToken(await sign())).toBe('ada@example.com');
    expect(await callerOfToken(await sign({ aud: GCLOUD_AUDIENCE }))).toBe('ada@example.com');
  });

  it('is the address of an assertion of Identity-Aware Proxy', async () => {
    const headers = { 'x-goog-iap-jwt-assertion': await assert({ email: 'grace@example.com' }) };
    expect(await callerOf(headers)).toBe('grace@example.com');
    expect(await callerOf({ ...headers, 'x-dropforge-identity': await sign() })).toBe('grace@example.com');
  });

  it.each([
    ['expired', () => sign({ exp: now() - 60 })],
    ['for another audience', () => sign({ aud: 'https://other.test' })],
    ['of another issuer', () => sign({ iss: 'https://evil.test' })],
    ['signed with another key', () => sign({}, stranger.privateKey)],
    ['without an e-mail address', () => sign({ email: undefined })],
    ['with an address that is not verified', () => sign({ email_verified: false })],
    ['whose address has a letter with an ASCII lower case', () => sign({ email: '\u212Aim@example.com' })],
    ['whose address has a slash', () => sign({ email: 'ada@example.com/x' })],
    ['without a signature', async () => new UnsecuredJWT(claims({})).encode()],
    [
      'whose signature Cloud Run removed',
      async () => `${(await sign()).split('.').slice(0, 2).join('.')}.SIGNATURE_REMOVED`,
    ],
    ['that is no token', async () => 'ada@example.com'],
    ['that is too long', async () => 'x'.repeat(10_000)],
  ])('is unknown with a token %s', async (_, token) => {
    expect(await callerOfToken(await token())).toBeNull();
  });

  it('is unknown to Identity-Aware Proxy with an account of Identity Platform, whose addresses are not verified', async () => {
    const assertion = await assert({ gcip: { sub: '1' }, sub: 'securetoken.google.com/p/t:1' });
    expect(await callerOf({ 'x-goog-iap-jwt-assertion': assertion })).toBeNull();
  });

  it('is unknown with headers that anyone can write', async () => {
    const token = await sign();
    const forged = [
      { authorization: `Bearer ${token}` },
      { 'x-serverless-authorization': `Bearer ${token}` },
      { 'x-goog-authenticated-user-email': 'accounts.google.com:ada@example.com' },
      { 'x-forwarded-email': 'ada@example.com' },
    ];
    for (const headers of forged) {
      expect(await callerOf(headers)).toBeNull();
    }
  });

  it('is unknown with a token of Google in place of an assertion, and the other way round', async () => {
    expect(await callerOf({ 'x-goog-iap-jwt-assertion': await sign({ aud: IAP_AUDIENCE }) })).toBeNull();
    expect(await callerOfToken(await assert())).toBeNull();
  });

  it('is not read from an assertion without Identity-Aware Proxy, whatever it says', async () => {
    const withoutIap = createCallerIdentifier({ ...issuers, iap: null });
    const headers = new Headers({ 'x-goog-iap-jwt-assertion': await assert() });
    expect(await withoutIap(headers)).toBeNull();
  });

  it('is a transient error if the keys cannot be fetched', async () => {
    const jwks = new URL('http://127.0.0.1:9/keys');
    const unreachable = createCallerIdentifier({ ...issuers, identity: { ...issuers.identity, jwks } });
    await expect(unreachable(new Headers({ 'x-dropforge-identity': await sign() }))).rejects.toThrow();
  });
});
