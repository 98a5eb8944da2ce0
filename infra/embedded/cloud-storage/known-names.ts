import type { Context, MiddlewareHandler } from 'hono';
import { storageError } from '#infra/embedded/cloud-storage/error.ts';

/**
 * The parameters of every method of Google's APIs; none changes what is stored. Tensorstore, with which Orbax saves,
 * adds one of its own name, so that no cache answers.
 * Source: https://cloud.google.com/storage/docs/json_api/v1/parameters
 */
const STANDARD_PARAMETERS =
  '$.xgafv access_token alt callback fields key oauth_token prettyPrint projection quotaUser tensorstore userIp userProject'.split(
    ' ',
  );

/** The fields of a resource that only the service sets: clients return them with the resource that they have read. */
const OUTPUT_FIELDS = (
  'kind id selfLink mediaLink bucket generation metageneration size etag timeCreated timeFinalized updated ' +
  'timeStorageClassUpdated timeDeleted componentCount owner projectNumber locationType'
).split(' ');

/** A handler that rejects a request with a parameter that its method does not have here, unless it has no effect. */
export function acceptParameters(...groups: readonly (readonly string[])[]): MiddlewareHandler {
  const known = new Set([...STANDARD_PARAMETERS, ...groups.flat()]);
  return async ({ req }: Context, next) => {
    assertKnown('parameter', known, req.query());
    await next();
  };
}

/** Throws if the body of a request has a field that would be lost. */
export function assertKnownFields(schema: { readonly shape: object }, body: unknown): void {
  assertKnown('field', new Set([...OUTPUT_FIELDS, ...Object.keys(schema.shape)]), Object(body));
}

function assertKnown(kind: string, known: ReadonlySet<string>, given: Readonly<Record<string, unknown>>): void {
  const unknown = Object.entries(given).find(([name, value]) => !known.has(name) && hasEffect(value));
  if (unknown !== undefined) {
    throw storageError(
      'INVALID',
      `The embedded cloud does not have the ${kind} ${unknown[0]} in this request, and would not apply it. Remove it.`,
    );
  }
}

const hasEffect = (value: unknown): boolean =>
  value !== null && value !== false && !/^(?:false)?$/i.test(String(value)) && JSON.stringify(value) !== '{}';
