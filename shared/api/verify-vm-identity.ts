import { errors } from 'jose';
import * as z from 'zod';
import { createTokenVerifier, TOKEN_CHARACTERS_MAX, type TokenIssuer } from '#shared/api/verify-token.ts';
import type { VmIdentity } from '#shared/domain/ownership.ts';

export type VmIdentityOutcome =
  | { readonly outcome: 'VERIFIED'; readonly identity: VmIdentity }
  | { readonly outcome: 'REJECTED'; readonly reason: string };

export type VmIdentityExpectation = Pick<TokenIssuer, 'jwks' | 'issuer'> & {
  readonly audience: string;
  /** The deployment's own account of VMs. */
  readonly serviceAccountEmail: string;
  readonly projectId: string;
};

export type VmIdentityVerifier = (authorizationHeader: string | undefined) => Promise<VmIdentityOutcome>;

/** Google's keys and issuer for tokens of Compute Engine's metadata server. */
export const GOOGLE_JWKS_URL = 'https://www.googleapis.com/oauth2/v3/certs';
export const GOOGLE_TOKEN_ISSUER = 'https://accounts.google.com';

const BEARER = /^Bearer +([\w-]+\.[\w-]+\.[\w-]*)$/i;

/** Source: cloud.google.com/compute/docs/instances/verifying-instance-identity#payload (token with `format=full`). */
const claimsSchema = z.object({
  email: z.string(),
  email_verified: z.literal(true),
  google: z.object({
    compute_engine: z.object({
      instance_id: z.string().regex(/^\d+$/),
      instance_name: z.string().min(1),
      project_id: z.string(),
      zone: z.string().min(1),
    }),
  }),
});

/**
 * Verifies the `Authorization` header of a VM: an unexpired RS256 token of this issuer, for this audience and project.
 * Cloud Run admits only the accounts that may invoke the function (terraform/grants.tf, `invokers`). Throws if the issuer's keys cannot be fetched, which is a transient error and not the VM's
 * fault.
 */
export function createVmIdentityVerifier(expectation: VmIdentityExpectation): VmIdentityVerifier {
  const { jwks, issuer, audience } = expectation;
  const verify = createTokenVerifier({ jwks, issuer, audiences: [audience], algorithm: 'RS256' });
  return async (authorizationHeader) => {
    const token = readToken(authorizationHeader);
    if (token === undefined) {
      return reject('The request carries no identity token. Send it as "Authorization: Bearer TOKEN".');
    }
    const claims = await verify(token);
    return claims instanceof errors.JOSEError
      ? reject(`The identity token is not valid: ${claims.message}.`)
      : checkClaims(claims, expectation);
  };
}

function readToken(authorizationHeader: string | undefined): string | undefined {
  const header = authorizationHeader?.trim() ?? '';
  return header.length > TOKEN_CHARACTERS_MAX ? undefined : BEARER.exec(header)?.[1];
}

function checkClaims(payload: unknown, { serviceAccountEmail, projectId }: VmIdentityExpectation): VmIdentityOutcome {
  const claims = claimsSchema.safeParse(payload);
  if (!claims.success) {
    const [issue] = claims.error.issues;
    return reject(`The identity token has no valid claim "${issue?.path.join('.')}". Request it with format=full.`);
  }
  const { email, google } = claims.data;
  const { instance_id: instanceId, instance_name: vmName, project_id, zone } = google.compute_engine;
  if (project_id !== projectId) {
    return reject(`The identity token belongs to a VM in project ${project_id}, not ${projectId}.`);
  }
  const serviceAccount = email === serviceAccountEmail ? null : email;
  return { outcome: 'VERIFIED', identity: { vmName, zone, instanceId, serviceAccount } };
}

function reject(reason: string): VmIdentityOutcome {
  return { outcome: 'REJECTED', reason };
}
