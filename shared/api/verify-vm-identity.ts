import { createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { z } from 'zod';

/** A VM as its identity token names it, proven by the signature. */
export type VmIdentity = { readonly vmName: string; readonly zone: string; readonly instanceId: string };

export type VmIdentityOutcome =
  | { readonly outcome: 'VERIFIED'; readonly identity: VmIdentity }
  | { readonly outcome: 'REJECTED'; readonly reason: string };

export type VmIdentityExpectation = {
  /** Where the issuer's public keys are, or a function that finds one. */
  readonly jwks: URL | JWTVerifyGetKey;
  readonly issuer: string;
  readonly audience: string;
  readonly serviceAccountEmail: string;
  readonly projectId: string;
};

export type VmIdentityVerifier = (authorizationHeader: string | undefined) => Promise<VmIdentityOutcome>;

/** Google's keys and name for the tokens of Compute Engine's metadata server. */
export const GOOGLE_JWKS_URL = 'https://www.googleapis.com/oauth2/v3/certs';
export const GOOGLE_TOKEN_ISSUER = 'https://accounts.google.com';

/** How far the clocks of issuer and verifier may be apart. */
export const CLOCK_SKEW_SECONDS_MAX = 30;

/** Real ones have about 1,100; what is longer is not worth taking apart. */
export const TOKEN_CHARACTERS_MAX = 8_192;

const BEARER = /^Bearer +([\w-]+\.[\w-]+\.[\w-]*)$/i;

/** Source: cloud.google.com/compute/docs/instances/verifying-instance-identity#payload (a token with `format=full`). */
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
 * Verifies the `Authorization` header of a VM: an RS256 token of this issuer, for this audience, of this service
 * account and project, not expired. Throws when the issuer's keys cannot be had: that is no fault of the VM's, and
 * passes.
 */
export function createVmIdentityVerifier(expectation: VmIdentityExpectation): VmIdentityVerifier {
  const { jwks, issuer, audience } = expectation;
  const findKey = jwks instanceof URL ? createRemoteJWKSet(jwks) : jwks;
  return async (authorizationHeader) => {
    const token = readToken(authorizationHeader);
    if (token === undefined) {
      return refuse('The request carries no identity token. Send it as "Authorization: Bearer TOKEN".');
    }
    try {
      const { payload } = await jwtVerify(token, findKey, {
        issuer,
        audience,
        algorithms: ['RS256'],
        clockTolerance: CLOCK_SKEW_SECONDS_MAX,
        requiredClaims: ['exp', 'iat'],
      });
      return judgeClaims(payload, expectation);
    } catch (error) {
      if (isFaultOfToken(error)) {
        return refuse(`The identity token is not valid: ${error.message}.`);
      }
      throw error;
    }
  };
}

function readToken(authorizationHeader: string | undefined): string | undefined {
  const header = authorizationHeader?.trim() ?? '';
  return header.length > TOKEN_CHARACTERS_MAX ? undefined : BEARER.exec(header)?.[1];
}

function judgeClaims(payload: unknown, { serviceAccountEmail, projectId }: VmIdentityExpectation): VmIdentityOutcome {
  const claims = claimsSchema.safeParse(payload);
  if (!claims.success) {
    const [issue] = claims.error.issues;
    return refuse(
      `The identity token lacks what a VM's has at "${issue?.path.join('.')}". Ask for it with format=full.`,
    );
  }
  const { email, google } = claims.data;
  const { instance_id: instanceId, instance_name: vmName, project_id, zone } = google.compute_engine;
  if (email !== serviceAccountEmail) {
    return refuse(`The identity token is of ${email}, not of the service account of the VMs.`);
  }
  if (project_id !== projectId) {
    return refuse(`The identity token is of a VM in project ${project_id}, not in ${projectId}.`);
  }
  return { outcome: 'VERIFIED', identity: { vmName, zone, instanceId } };
}

/** What jose says of a token is one of its own errors; these few are about the keys, as is all that is not jose's. */
function isFaultOfToken(error: unknown): error is errors.JOSEError {
  return (
    error instanceof errors.JOSEError &&
    !(error instanceof errors.JWKSTimeout) &&
    !(error instanceof errors.JWKSInvalid) &&
    error.code !== errors.JOSEError.code
  );
}

function refuse(reason: string): VmIdentityOutcome {
  return { outcome: 'REJECTED', reason };
}
