import type { Context } from 'hono';
import { computeError } from '#infra/embedded/compute-engine/error.ts';
import { compileFilter, type Resource } from '#infra/embedded/http/list-filter.ts';

const PAGE_COUNT_MAX = 500;

export type Page<T extends Resource> = { readonly items: readonly T[]; readonly nextPageToken?: string };

/** A resource identified by zone and name, which are unique within a list. */
type Named = Resource & { readonly name: string; readonly zone?: string };

/**
 * Returns one page of a list, by the parameters common to all list methods (Compute API: filter, maxResults,
 * pageToken). The token encodes the last resource returned, so that insertions and deletions between pages shift
 * nothing.
 */
export function pageOf<T extends Named>(context: Context, resources: readonly T[]): Page<T> {
  const predicate = compileFilter(context.req.query('filter'));
  if (context.req.query('orderBy') !== undefined && context.req.query('orderBy') !== 'name') {
    throw computeError('invalid', "Invalid value for field 'orderBy': the embedded cloud supports name only.");
  }
  const after = readToken(context.req.query('pageToken'));
  const count = readCount(context.req.query('maxResults'));
  const found = resources
    .map((resource) => ({ resource, key: keyOf(resource) }))
    .filter(({ resource, key }) => key > after && predicate(resource))
    .sort((one, other) => (one.key < other.key ? -1 : 1));
  const shown = found.slice(0, count);
  const last = shown.at(-1);
  return {
    items: shown.map(({ resource }) => resource),
    ...(last !== undefined && found.length > count && { nextPageToken: Buffer.from(last.key).toString('base64url') }),
  };
}

/** An empty list has no `items` field, as in Google's API. */
export function listOf(kind: string, { items, nextPageToken }: Page<Resource>, selfLink: string) {
  return {
    kind: `compute#${kind}`,
    id: selfLink.slice(selfLink.indexOf('projects/')),
    ...(items.length > 0 && { items }),
    ...(nextPageToken !== undefined && { nextPageToken }),
    selfLink,
  };
}

type Aggregation = {
  readonly kind: string;
  /** The field that holds a zone's resources. */
  readonly key: string;
  readonly zones: readonly string[];
  readonly unreachable: readonly string[];
  readonly selfLink: string;
};

/** Zones that are unreachable or have no resource on this page have a warning instead, as in Google's API. */
export function aggregatedListOf(page: Page<Named>, { kind, key, zones, unreachable, selfLink }: Aggregation) {
  const items = zones.map((zone) => {
    const scope = `zones/${zone}`;
    const isUnreachable = unreachable.includes(zone);
    const inZone = isUnreachable ? [] : page.items.filter((resource) => resource.zone?.endsWith(`/${zone}`));
    const warning = {
      code: isUnreachable ? 'UNREACHABLE' : 'NO_RESULTS_ON_PAGE',
      message: isUnreachable
        ? `The scope '${scope}' is unreachable.`
        : `There are no results for scope '${scope}' on this page.`,
      data: [{ key: 'scope', value: scope }],
    };
    return [scope, inZone.length > 0 ? { [key]: inZone } : { warning }] as const;
  });
  return {
    ...listOf(kind, { ...page, items: [] }, selfLink),
    items: Object.fromEntries(items),
    ...(unreachable.length > 0 && { unreachables: unreachable.map((zone) => `zones/${zone}`) }),
  };
}

function keyOf({ zone = '', name }: Named): string {
  return `${zone.split('/').at(-1)}/${name}`;
}

function readToken(token: string | undefined): string {
  const key = Buffer.from(token ?? '', 'base64url').toString();
  if (token !== undefined && !/^[\w-]*\/[\w.-]+$/.test(key)) {
    throw computeError('invalid', `Invalid value for field 'pageToken': '${token}' is not a token of this list.`);
  }
  return key;
}

function readCount(text: string | undefined): number {
  const count = Number(text ?? PAGE_COUNT_MAX);
  if (!Number.isInteger(count) || count < 0 || count > PAGE_COUNT_MAX) {
    throw computeError(
      'invalid',
      `Invalid value for field 'maxResults': '${text}'. It must be 0 to ${PAGE_COUNT_MAX}.`,
    );
  }
  return count === 0 ? PAGE_COUNT_MAX : count;
}
