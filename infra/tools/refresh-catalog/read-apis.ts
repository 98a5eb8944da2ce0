import {
  type ApiAnswers,
  type Page,
  type Read,
  readAccelerators,
  readMachineTypes,
  readRegions,
  readSkus,
} from '#infra/tools/refresh-catalog/api-answers.ts';

export const COMPUTE_URL = 'https://compute.googleapis.com/compute/v1';
export const BILLING_URL = 'https://cloudbilling.googleapis.com/v1';

/** Compute Engine in the Cloud Billing Catalog. */
const COMPUTE_SERVICE = '6F81-5844-456A';
/** All machine types of all zones are some 30 000, and 500 fit in a page. */
const PAGES_MAX = 500;
const PAGE_ITEMS = 500;
/** The most that the Cloud Billing Catalog gives at once. */
const SKU_PAGE_ITEMS = 5000;
const ANSWER_MS_MAX = 60_000;
/** Of a refusal so much is shown. */
const REFUSAL_CHARACTERS_MAX = 200;

export type ApiQuestion = {
  readonly project: string;
  /** An OAuth access token. */
  readonly token: string;
  readonly asksPrices: boolean;
  readonly day: string;
  readonly computeUrl: string;
  readonly billingUrl: string;
};

/** Asks Compute Engine, and for prices the Cloud Billing Catalog, list by list; the first failure ends it. */
export async function readApis(question: ApiQuestion): Promise<Read<ApiAnswers>> {
  const { computeUrl, billingUrl, token } = question;
  const project = `${computeUrl}/projects/${encodeURIComponent(question.project)}`;
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
  if (!question.asksPrices) {
    return { value: { ...lists, skus: null, day: question.day } };
  }
  const skusUrl = `${billingUrl}/services/${COMPUTE_SERVICE}/skus?currencyCode=USD&pageSize=${SKU_PAGE_ITEMS}`;
  const skus = await readList(skusUrl, token, readSkus);
  return 'failure' in skus ? skus : { value: { ...lists, skus: skus.value, day: question.day } };
}

/** Every page of a list. A list with nothing in it is a failure: it would empty the catalog. */
async function readList<T>(
  url: string,
  token: string,
  read: (page: unknown) => Read<Page<T>>,
): Promise<Read<readonly T[]>> {
  const items: T[] = [];
  let pageToken: string | null = '';
  for (let page = 0; page < PAGES_MAX && pageToken !== null; page++) {
    const query = pageToken === '' ? '' : `&pageToken=${encodeURIComponent(pageToken)}`;
    const answer = await getJson(`${url}${query}`, token);
    const found: Read<Page<T>> = 'failure' in answer ? answer : read(answer.value);
    if ('failure' in found) {
      return { failure: `${nameOf(url)}: ${found.failure}.` };
    }
    items.push(...found.value.items);
    pageToken = found.value.nextPageToken;
  }
  if (pageToken !== null) {
    return { failure: `${nameOf(url)}: the list did not end after ${PAGES_MAX} pages.` };
  }
  return items.length === 0 ? { failure: `${nameOf(url)}: the list is empty.` } : { value: items };
}

async function getJson(url: string, token: string): Promise<Read<unknown>> {
  try {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${token}` },
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    const text = await response.text();
    return response.ok ? { value: JSON.parse(text) as unknown } : { failure: describeRefusal(response.status, text) };
  } catch (error) {
    return { failure: describeCause(error) };
  }
}

function describeRefusal(status: number, text: string): string {
  const said = /"message":\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text.replaceAll(/\s+/g, ' ').trim();
  const words = said.replace(/\.$/, '').slice(0, REFUSAL_CHARACTERS_MAX);
  return words === '' ? `refused with ${status}` : `refused with ${status}, "${words}"`;
}

/** `fetch` hides what happened in the cause of its error. */
function describeCause(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.message) : String(cause);
}

/** What was asked, without the query. */
function nameOf(url: string): string {
  return url.replace(/^https?:\/\//, '').replace(/\?.*$/, '');
}
