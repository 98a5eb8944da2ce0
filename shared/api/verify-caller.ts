import { errors } from 'jose';
import * as z from 'zod';
import type { IdentifyCaller } from '#shared/api/identify-callers.ts';
import { createTokenVerifier, TOKEN_CHARACTERS_MAX, type TokenIssuer } from '#shared/api/verify-token.ts';

/**
 * The header with the caller's identity token. Cloud Run verifies the token in Authorization, or that in
 * X-Serverless-Authorization if there are both, and removes its signature ("Authenticating service-to-service"): what
 * arrives there proves nothing to the function. This one arrives as it was sent.
 */
export const IDENTITY_HEADER = 'x-dropforge-identity';

/** Set by Identity-Aware Proxy ("Getting the user's identity"); signed, unlike its other headers. */
const IAP_HEADER = 'x-goog-iap-jwt-assertion';

export const IAP_JWKS_URL = 'https://www.gstatic.com/iap/verify/public_key-jwk';
export const IAP_ISSUER = 'https://cloud.google.com/iap';

/** The audience of identity tokens that `gcloud auth print-identity-token` prints for user accounts: gcloud itself. */
export const GCLOUD_AUDIENCE = '32555940559.apps.googleusercontent.com';

export type CallerExpectation = {
  readonly identity: TokenIssuer;
  /** Null for a deployment without Identity-Aware Proxy, where its header is ignored. */
  readonly iap: TokenIssuer | null;
};

/** ASCII only, since other letters can have an ASCII lower case. */
const EMAIL = /^[\w.%+'-]+@[\w.-]+$/;

const claimsSchema = z.object({
  email: z.string().max(320).regex(EMAIL).toLowerCase(),
  email_verified: z.boolean().optional(),
  /** Set by Identity-Aware Proxy for users of Identity Platform, who choose their addresses themselves. */
  gcip: z.unknown().optional(),
});

/**
 * Reads the caller's e-mail address, in lowercase, from a signed assertion of Identity-Aware Proxy or from a signed
 * identity token; null if neither proves one. A header without a signature is never believed. Throws if an issuer's
 * keys cannot be fetched, which is a transient error.
 */
export function createCallerIdentifier({ identity, iap }: CallerExpectation): IdentifyCaller {
  const identifyToken = createTokenReader(identity, true);
  const identifyAssertion = iap === null ? undefined : createTokenReader(iap, false);
  return async (headers) => {
    const assertion = headers.get(IAP_HEADER);
    if (identifyAssertion !== undefined && assertion !== null) {
      return identifyAssertion(assertion);
    }
    const token = headers.get(IDENTITY_HEADER);
    return token === null ? null : identifyToken(token);
  };
}

/** @param needsVerified whether the issuer also signs addresses that it has not verified */
function createTokenReader(issuer: TokenIssuer, needsVerified: boolean) {
  const verify = createTokenVerifier(issuer);
  return async (token: string): Promise<string | null> => {
    const verified = token.length > TOKEN_CHARACTERS_MAX ? null : await verify(token.trim());
    const claims = claimsSchema.safeParse(verified instanceof errors.JOSEError ? null : verified);
    if (!claims.success || (needsVerified && claims.data.email_verified !== true)) {
      return null;
    }
    const { email, gcip } = claims.data;
    return gcip === undefined ? email : null;
  };
}
