import {
  type ApiResponses,
  type Page,
  type Result,
  readAccelerators,
  readMachineTypes,
  readRegions,
  readSkus,
} from '#infra/tools/refresh-catalog/api-responses.ts';

export const COMPUTE_URL = 'https://compute.googleapis.com/compute/v1';
export const BILLING_URL = 'https://cloudbilling.googleapis.com/v1';

/** Compute Engine in the Cloud Billing Catalog. */
const COMPUTE_SERVICE = '6F81-5844-456A';
/** There are about 30,000 machine types in all zones, 500 per page. */
const PAGES_MAX = 500;
const PAGE_ITEMS = 500;
/** The Cloud Billing Catalog's maximum. */
const SKU_PAGE_ITEMS = 5000;
const RESPONSE_MS_MAX = 60_000;
/** Longer error messages are truncated. */
const ERROR_CHARACTERS_MAX = 200;

export type ApiRequest = {
  readonly project: string;
  /** An OAuth access token. */
  readonly token: string;
  readonly includesPrices: boolean;
  readonly day: string;
  readonly computeUrl: string;
  readonly billingUrl: string;
};

/** Reads the lists of Compute Engine and, for prices, of the Cloud Billing Catalog; stops at the first failure. */
export async function readApis(request: ApiRequest): Promise<Result<ApiResponses>> {
  const { computeUrl, billingUrl, token } = request;
  const project = `${computeUrl}/projects/${encodeURIComponent(request.project)}`;
  const regions = await readList(`${project}/regions?maxResults=${PAGE_ITEMS}`, token, readRegions);
  if ('failure' in regions) {
    return regions;
  }
  const aggregated = `${project}/aggregated`;
  const types = await readList(`${aggregated}/machineTypes?maxResults=${PAGE_ITEMS}`, token, readMachineTypes);
  if ('failure' in types) {
    return types;
  }
  const gpus = await readList(`${aggregated}/acceleratorTypes?maxResults=${PAGE_ITEMS}`, token, readAccelerators);
  if ('failure' in gpus) {
    return gpus;
  }
  const lists = { regions: regions.value, machineTypes: types.value, accelerators: gpus.value };
  if (!request.includesPrices) {
    return { value: { ...lists, skus: null, day: request.day } };
  }
  const skusUrl = `${billingUrl}/services/${COMPUTE_SERVICE}/skus?currencyCode=USD&pageSize=${SKU_PAGE_ITEMS}`;
  const skus = await readList(skusUrl, token, readSkus);
  return 'failure' in skus ? skus : { value: { ...lists, skus: skus.value, day: request.day } };
}

/** Reads all pages of a list. An empty list is a failure: it would empty the catalog. */
async function readList<T>(
  url: string,
  token: string,
  read: (page: unknown) => Result<Page<T>>,
): Promise<Result<readonly T[]>> {
  const items: T[] = [];
  let pageToken: string | null = '';
  for (let page = 0; page < PAGES_MAX && pageToken !== null; page++) {
    const query = pageToken === '' ? '' : `&pageToken=${encodeURIComponent(pageToken)}`;
    const response = await getJson(`${url}${query}`, token);
    const found: Result<Page<T>> = 'failure' in response ? response : read(response.value);
    if ('failure' in found) {
      return { failure: `${nameOf(url)}: ${found.failure}.` };
    }
    items.push(...found.value.items);
    pageToken = found.value.nextPageToken;
  }
  if (pageToken !== null) {
    return { failure: `${nameOf(url)}: the list has more than ${PAGES_MAX} pages.` };
  }
  return items.length === 0 ? { failure: `${nameOf(url)}: the list is empty.` } : { value: items };
}

async function getJson(url: string, token: string): Promise<Result<unknown>> {
  try {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${token}` },
      redirect: 'error',
      signal: AbortSignal.timeout(RESPONSE_MS_MAX),
    });
    const text = await response.text();
    return response.ok ? { value: JSON.parse(text) as unknown } : { failure: describeError(response.status, text) };
  } catch (error) {
    return { failure: describeCause(error) };
  }
}

function describeError(status: number, text: string): string {
  const message = /"message":\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text.replaceAll(/\s+/g, ' ').trim();
  const shown = message.replace(/\.$/, '').slice(0, ERROR_CHARACTERS_MAX);
  return shown === '' ? `failed with status ${status}` : `failed with status ${status}, "${shown}"`;
}

/** The reason of a `fetch` error is in its cause. */
function describeCause(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.message) : String(cause);
}

/** The URL without scheme and query. */
function nameOf(url: string): string {
  return url.replace(/^https?:\/\//, '').replace(/\?.*$/, '');
}
