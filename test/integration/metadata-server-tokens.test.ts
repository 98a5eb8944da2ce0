import { createLocalJWKSet, decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { openVmIdentityIssuer } from '../../infra/embedded/compute-engine/vms/identity.ts';
import { createVmIdentityVerifier } from '../../shared/api/verify-vm-identity.ts';
import { EMAIL, INSTANCE_ID, openMetadataServerForEachTest } from '../support/embedded/metadata-server-under-test.ts';

describe('the metadata server of a VM', () => {
  const { database, vm, ask, read } = openMetadataServerForEachTest();

  it('issues an identity token that the verifier accepts, and only with an audience', async () => {
    const path = '/instance/service-accounts/default/identity?audience=https://h.test&format=full';
    const token = await read(path);
    const jwks = createLocalJWKSet(vm().identity.jwks);
    const verify = createVmIdentityVerifier({
      ...{ jwks, issuer: vm().identity.issuer, audience: 'https://h.test', serviceAccountEmail: EMAIL, projectId: 'p' },
    });

    const expected = {
      vmName: 'df-job-a1-master-0',
      zone: 'us-central1-a',
      instanceId: INSTANCE_ID,
      serviceAccount: null,
    };
    expect(await verify(`Bearer ${token}`)).toEqual({ outcome: 'VERIFIED', identity: expected });
    const { iat, exp, google } = decodeJwt(token);
    expect(Number(exp) - Number(iat)).toBe(3_600);
    expect(google).toMatchObject({
      compute_engine: { instance_creation_timestamp: 1_700_000_000, project_number: 100_000_000_001 },
    });
    expect((await ask('/instance/service-accounts/default/identity')).status).toBe(400);
    expect(decodeJwt(await read(path.replace('&format=full', '')))).not.toHaveProperty('google');
  });

  it('stores its signing key, and publishes only the public key', async () => {
    const options = { database, clock: { now: Date.now }, projectId: 'p', serviceAccountEmail: EMAIL };
    expect((await openVmIdentityIssuer(options)).jwks).toEqual(vm().identity.jwks);
    expect(Object.keys(vm().identity.jwks.keys[0] ?? {}).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
  });

  it('returns the same access token until five minutes before it expires', async () => {
    const token = async () => JSON.parse(await read('/instance/service-accounts/default/token'));
    const first = await token();
    expect(first).toMatchObject({ expires_in: 3_600, token_type: 'Bearer' });
    vm().now += 3_300_000;
    expect(await token()).toEqual({ ...first, expires_in: 300 });
    vm().now += 1_000;
    expect((await token()).access_token).not.toBe(first.access_token);
  });
});
