import type { GoogleAuth } from 'google-auth-library';
import * as z from 'zod';

/**
 * Requests that the client library cannot make: the description of the API in its version 7.8.0 lacks
 * `returnPartialSuccess`, and the client drops fields that it does not know.
 */
export type ComputeRest = {
  /** The URL of Compute Engine, without a trailing slash. */
  readonly url: string;
  readonly auth: GoogleAuth;
};

/** A filtered list usually has one page; each has up to 500 VMs. */
const PAGES_MAX = 100;

const LIST_MS_MAX = 60_000;

/**
 * The warning of a zone that was read and has no VMs on this page. Any other, such as UNREACHABLE, means that the zone
 * may have VMs that are not listed (API, InstancesScopedList.warning).
 */
const NO_RESULTS = 'NO_RESULTS_ON_PAGE';

const pageSchema = z.object({
  items: z
    .record(
      z.string(),
      z.object({
        instances: z.array(z.unknown()).default([]),
        warning: z.object({ code: z.string().default('UNKNOWN') }).optional(),
      }),
    )
    .default({}),
  unreachables: z.array(z.string()).default([]),
  nextPageToken: z.string().optional(),
});

type Query = { readonly projectId: string; readonly filter: string };

/**
 * The instances of all zones that match the filter, and the zones that may have others. Without `returnPartialSuccess`,
 * the outage of one zone of the world would fail the whole list (API, instances.aggregatedList).
 */
export async function listInstances({ url, auth }: ComputeRest, { projectId, filter }: Query) {
  const instances: unknown[] = [];
  const unreachable = new Set<string>();
  let pageToken: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const { data } = await auth.request<unknown>({
      url: `${url}/compute/v1/projects/${projectId}/aggregated/instances`,
      params: { filter, returnPartialSuccess: true, ...(pageToken !== undefined && { pageToken }) },
      timeout: LIST_MS_MAX,
      retry: true,
    });
    const page = pageSchema.parse(data);
    for (const [scope, { instances: found, warning }] of Object.entries(page.items)) {
      instances.push(...found);
      if (warning !== undefined && warning.code !== NO_RESULTS) {
        unreachable.add(zoneOf(scope));
      }
    }
    for (const scope of page.unreachables) {
      unreachable.add(zoneOf(scope));
    }
    pageToken = page.nextPageToken;
    if (pageToken === undefined || pageToken === '') {
      return { instances, unreachable: [...unreachable] };
    }
  }
  throw new Error(`The list of VMs of the project ${projectId} has more than ${PAGES_MAX} pages.`);
}

/** The zone's name, from a scope (`zones/Z`) or a resource's URL. */
function zoneOf(scope: string): string {
  return scope.slice(scope.lastIndexOf('/') + 1);
}
