import { createHeartbeat } from '#functions/heartbeat.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';
import { createVmIdentityVerifier, GOOGLE_JWKS_URL, GOOGLE_TOKEN_ISSUER } from '#shared/api/verify-vm-identity.ts';

startFunction('heartbeat', ({ settings, logger }) =>
  createHeartbeat({
    ...connectEvents(settings),
    logger,
    verifyVmIdentity: createVmIdentityVerifier({
      jwks: new URL(settings.IDENTITY_CERTS_URL ?? GOOGLE_JWKS_URL),
      issuer: GOOGLE_TOKEN_ISSUER,
      audience: settings.HEARTBEAT_AUDIENCE,
      serviceAccountEmail: settings.VM_SERVICE_ACCOUNT,
      projectId: settings.PROJECT_ID,
    }),
  }),
);
