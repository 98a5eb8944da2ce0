import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLocalJWKSet, exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { CLOCK_SKEW_SECONDS_MAX, TOKEN_CHARACTERS_MAX } from '../../shared/api/verify-token.ts';
import { createVmIdentityVerifier } from '../../shared/api/verify-vm-identity.ts';

const ISSUER = 'https://accounts.google.com';
const AUDIENCE = 'https://heartbeat.test';
const EMAIL = 'vm@p.iam.gserviceaccount.com';

const { privateKey, publicKey } = await generateKeyPair('RS256');
const stranger = await generateKeyPair('RS256');
const publicJwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' };

const verify = createVmIdentityVerifier({
  jwks: createLocalJWKSet({ keys: [publicJwk] }),
  issuer: ISSUER,
  audience: AUDIENCE,
  serviceAccountEmail: EMAIL,
  projectId: 'p',
});

const COMPUTE_ENGINE = {
  instance_confidentiality: 1,
  instance_creation_timestamp: 1_686_491_081,
  instance_id: '4570452845155348778',
  instance_name: 'df-job-a1-master-0',
  project_id: 'p',
  project_number: 1_071_284_184_436,
  zone: 'us-central1-c',
};

/** The claims of a real token (cloud.google.com/compute/docs/instances/verifying-instance-identity), with some changed. */
function claims(change: Record<string, unknown> = {}): JWTPayload {
  const now = Math.floor(Date.now() / 1_000);
  return {
    aud: AUDIENCE,
    azp: '112179062720391305885',
    sub: '112179062720391305885',
    email: EMAIL,
    email_verified: true,
    iss: ISSUER,
    iat: now,
    exp: now + 3_600,
    google: { compute_engine: COMPUTE_ENGINE },
    ...change,
  };
}

const secondsFromNow = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;
const sign = (payload: JWTPayload, key = privateKey, kid = 'k1') =>
  new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid }).sign(key);
const withComputeEngine = (change: object) => ({ google: { compute_engine: { ...COMPUTE_ENGINE, ...change } } });

const [header, payload, signature] = (await sign(claims())).split('.');
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const INVALID: readonly (readonly [string, string | undefined])[] = [
  ['no header', undefined],
  ['an empty header', ''],
  ['another scheme', `Basic ${header}.${payload}.${signature}`],
  ['no token', 'Bearer '],
  ['something that is not a token', 'Bearer abc'],
  ['two tokens', `Bearer ${header}.${payload}.${signature} ${header}.${payload}.${signature}`],
  ['a token signed with another key', `Bearer ${await sign(claims(), stranger.privateKey)}`],
  ['a token that names an unknown key', `Bearer ${await sign(claims(), stranger.privateKey, 'k2')}`],
  ['changed claims', `Bearer ${header}.${encode(claims({ sub: 'me' }))}.${signature}`],
  ['no signature', `Bearer ${header}.${payload}.`],
  ['the algorithm "none"', `Bearer ${new UnsecuredJWT(claims()).encode()}`],
  [
    'HS256 with the public key as the secret',
    `Bearer ${await new SignJWT(claims())
      .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
      .sign(new TextEncoder().encode(JSON.stringify(publicJwk)))}`,
  ],
  ['an endless token', `Bearer ${header}.${'a'.repeat(TOKEN_CHARACTERS_MAX)}.${signature}`],
];

describe('verifying the identity of a VM', () => {
  it('accepts a token that the issuer signed for this audience, service account and project', async () => {
    const place = { zone: 'us-central1-c', serviceAccount: null };
    const identity = { vmName: 'df-job-a1-master-0', instanceId: '4570452845155348778', ...place };
    expect(await verify(`Bearer ${await sign(claims())}`)).toEqual({ outcome: 'VERIFIED', identity });
    expect(await verify(`bearer  ${await sign(claims())}`)).toEqual({ outcome: 'VERIFIED', identity });
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['expired', { exp: secondsFromNow(-CLOCK_SKEW_SECONDS_MAX - 5) }, /exp/],
    ['not yet valid', { nbf: secondsFromNow(600) }, /nbf/],
    ['without an expiry', { exp: undefined }, /exp/],
    ['without a time of issue', { iat: undefined }, /iat/],
    ['for another audience', { aud: 'https://elsewhere.test' }, /aud/],
    ['without an audience', { aud: undefined }, /aud/],
    ['of another issuer', { iss: 'https://evil.test' }, /iss/],
    ['of an unverified address', { email_verified: false }, /email_verified/],
    ['with the string "true"', { email_verified: 'true' }, /email_verified/],
    ['without an address', { email: undefined }, /email/],
    ['of another project', withComputeEngine({ project_id: 'q' }), /project q/],
    ['in the standard format', { google: undefined }, /format=full/],
    ['without an instance id', withComputeEngine({ instance_id: undefined }), /instance_id/],
    ['whose instance id is a number', withComputeEngine({ instance_id: 4570452845 }), /instance_id/],
    ['without an instance name', withComputeEngine({ instance_name: '' }), /instance_name/],
    ['without a zone', withComputeEngine({ zone: undefined }), /zone/],
  ])('rejects a token %s', async (_, change, reason) => {
    const outcome = await verify(`Bearer ${await sign(claims(change))}`);
    expect(outcome).toEqual({ outcome: 'REJECTED', reason: expect.stringMatching(reason) });
  });

  it('names the service account of a job of its own, for the comparison with the job', async () => {
    const outcome = await verify(`Bearer ${await sign(claims({ email: 'other@p.iam.gserviceaccount.com' }))}`);
    expect(outcome).toMatchObject({ identity: { serviceAccount: 'other@p.iam.gserviceaccount.com' } });
  });

  it('tolerates clock skew', async () => {
    const outcome = await verify(`Bearer ${await sign(claims({ exp: secondsFromNow(-CLOCK_SKEW_SECONDS_MAX + 10) }))}`);
    expect(outcome.outcome).toBe('VERIFIED');
  });

  it.each(INVALID)('rejects %s', async (_, authorization) => {
    expect(await verify(authorization)).toEqual({
      outcome: 'REJECTED',
      reason: expect.stringMatching(/identity token/),
    });
  });

  it('throws while the issuer’s keys are unavailable, so that the VM retries, and fetches them afterwards', async () => {
    let status = 503;
    const server = createServer((_, response) => response.writeHead(status).end(JSON.stringify({ keys: [publicJwk] })));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const jwks = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/certs`);
    const verifyRemotely = createVmIdentityVerifier({
      ...{ jwks, issuer: ISSUER, audience: AUDIENCE, serviceAccountEmail: EMAIL, projectId: 'p' },
    });
    const authorization = `Bearer ${await sign(claims())}`;

    await expect(verifyRemotely(authorization)).rejects.toThrow(/200/);
    status = 200;
    expect((await verifyRemotely(authorization)).outcome).toBe('VERIFIED');
    server.close();
    server.closeAllConnections();
    const isUnreachable = createVmIdentityVerifier({
      ...{ jwks, issuer: ISSUER, audience: AUDIENCE, serviceAccountEmail: EMAIL, projectId: 'p' },
    });
    await expect(isUnreachable(authorization)).rejects.toThrow();
  });
});
