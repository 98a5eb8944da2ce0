import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';

/** Who signs, and for whom. */
export type TokenIssuer = {
  /** URL of the public keys, or a function that returns a key. */
  readonly jwks: URL | JWTVerifyGetKey;
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly algorithm: 'RS256' | 'ES256';
};

/** Tolerated clock difference between issuer and verifier. */
export const CLOCK_SKEW_SECONDS_MAX = 30;

/** Real tokens have about 1,100 characters; longer ones are rejected without parsing. */
export const TOKEN_CHARACTERS_MAX = 8_192;

/**
 * Verifies tokens of one issuer: signature, audience and expiry. Returns the claims, or why the token is not valid.
 * Throws if the issuer's keys cannot be fetched, which is a transient error and not the token's fault.
 */
export function createTokenVerifier({ jwks, issuer, audiences, algorithm }: TokenIssuer) {
  const findKey = jwks instanceof URL ? createRemoteJWKSet(jwks) : jwks;
  return async (token: string): Promise<JWTPayload | errors.JOSEError> => {
    try {
      const { payload } = await jwtVerify(token, findKey, {
        issuer,
        audience: [...audiences],
        algorithms: [algorithm],
        clockTolerance: CLOCK_SKEW_SECONDS_MAX,
        requiredClaims: ['exp', 'iat'],
      });
      return payload;
    } catch (error) {
      if (isTokenError(error)) {
        return error;
      }
      throw error;
    }
  };
}

/** Whether the token is invalid. Errors about the keys, and errors that are not jose's, are not about the token. */
function isTokenError(error: unknown): error is errors.JOSEError {
  return (
    error instanceof errors.JOSEError &&
    !(error instanceof errors.JWKSTimeout) &&
    !(error instanceof errors.JWKSInvalid) &&
    error.code !== errors.JOSEError.code
  );
}
