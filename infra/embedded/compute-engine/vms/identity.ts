import { createHash } from 'node:crypto';
import { exportJWK, generateKeyPair, importJWK, type JSONWebKeySet, type JWK, SignJWT } from 'jose';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import { GOOGLE_TOKEN_ISSUER } from '#shared/api/verify-vm-identity.ts';
import type { VmIdentity } from '#shared/domain/ownership.ts';
import type { Clock } from '#shared/ports/clock.ts';

/** The claims of an identity token about its VM. */
export type VmIdentityClaims = VmIdentity & { readonly createdAt: number };

/** Signs identity tokens for the VMs of the embedded cloud, as Google does for those of Compute Engine. */
export type VmIdentityIssuer = {
  /** Google's; the keys are not. */
  readonly issuer: string;
  readonly projectId: string;
  readonly projectNumber: number;
  readonly serviceAccountEmail: string;
  /** The public keys, in the form of https://www.googleapis.com/oauth2/v3/certs. */
  readonly jwks: JSONWebKeySet;
  /** `format: 'full'` adds the claims about the instance; a standard token names only the service account. */
  issueToken(
    vm: VmIdentityClaims,
    token: { readonly audience: string; readonly format: 'standard' | 'full' },
  ): Promise<string>;
};

export type VmIdentityOptions = {
  readonly database: Database;
  readonly clock: Clock;
  readonly projectId: string;
  readonly serviceAccountEmail: string;
};

/** The embedded cloud has one project; Google's project numbers have twelve digits. */
const PROJECT_NUMBER = 100_000_000_001;

/** The unique id of the project's service account; Google's have 21 digits. */
const SERVICE_ACCOUNT_ID = '100000000000000000001';

const TOKEN_LIFETIME_SECONDS = 3_600;
const ALGORITHM = 'RS256';

const SCHEMA =
  'create table if not exists vm_identity_keys (key_id text primary key, private_jwk text not null) strict';

/** The key is created once and stored in the database: tokens stay valid across restarts of the cloud. */
export async function openVmIdentityIssuer(options: VmIdentityOptions): Promise<VmIdentityIssuer> {
  const { clock, projectId, serviceAccountEmail } = options;
  const jwk = readKey(options.database) ?? (await createKey(options.database));
  const key = await importJWK(jwk, ALGORITHM);
  const { kty, n, e, kid } = jwk;

  function issueToken(vm: VmIdentityClaims, { audience, format }: { audience: string; format: 'standard' | 'full' }) {
    const issuedAt = Math.floor(clock.now() / 1_000);
    const accountId = accountIdOf(vm.serviceAccount);
    const claims = {
      azp: accountId,
      email: vm.serviceAccount ?? serviceAccountEmail,
      email_verified: true,
      ...(format === 'full' && { google: { compute_engine: computeEngineClaims(vm, projectId) } }),
    };
    return new SignJWT(claims)
      .setProtectedHeader({ alg: ALGORITHM, kid: String(kid), typ: 'JWT' })
      .setIssuer(GOOGLE_TOKEN_ISSUER)
      .setSubject(accountId)
      .setAudience(audience)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + TOKEN_LIFETIME_SECONDS)
      .sign(key);
  }

  const publicKey: JWK = { kty: String(kty), n: String(n), e: String(e), kid: String(kid), alg: ALGORITHM, use: 'sig' };
  return {
    issuer: GOOGLE_TOKEN_ISSUER,
    projectId,
    projectNumber: PROJECT_NUMBER,
    serviceAccountEmail,
    jwks: { keys: [publicKey] },
    issueToken,
  };
}

function accountIdOf(serviceAccount: string | null): string {
  if (serviceAccount === null) {
    return SERVICE_ACCOUNT_ID;
  }
  const digest = createHash('sha256').update(serviceAccount).digest().readBigUInt64BE();
  return `1${String(digest).padStart(20, '0')}`;
}

/** Source: cloud.google.com/compute/docs/instances/verifying-instance-identity#payload. */
function computeEngineClaims(vm: VmIdentityClaims, projectId: string) {
  return {
    instance_confidentiality: 0,
    instance_creation_timestamp: Math.floor(vm.createdAt / 1_000),
    instance_id: vm.instanceId,
    instance_name: vm.vmName,
    project_id: projectId,
    project_number: PROJECT_NUMBER,
    zone: vm.zone,
  };
}

function readKey({ sql }: Database): JWK | undefined {
  sql.exec(SCHEMA);
  const row = sql.prepare('select private_jwk from vm_identity_keys limit 1').get();
  return row === undefined ? undefined : (JSON.parse(String(row.private_jwk)) as JWK);
}

async function createKey({ sql }: Database): Promise<JWK> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), kid: crypto.randomUUID().replaceAll('-', '') };
  sql.prepare('insert into vm_identity_keys (key_id, private_jwk) values (?, ?)').run(jwk.kid, JSON.stringify(jwk));
  return jwk;
}
