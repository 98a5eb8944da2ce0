import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';

let api: ApiUnderTest;
beforeEach(async () => {
  api = await openApiUnderTest();
});
afterEach(() => api.close());

const OWN = { host: 'dropforge.example', origin: 'https://dropforge.example', 'sec-fetch-site': 'same-origin' };

async function cancelWith(headers: Record<string, string>): Promise<number> {
  return (await api.request('http://dropforge.example/v1/jobs/absent:cancel', { method: 'POST', headers })).status;
}

it('accepts changes from its own page and from programs, which send no Origin', async () => {
  expect(await cancelWith({ ...OWN, 'x-dropforge-page': '1' })).toBe(404);
  expect(await cancelWith({})).toBe(404);
});

it.each([
  ['another origin', { ...OWN, origin: 'https://evil.example', 'x-dropforge-page': '1' }],
  ['another site by its fetch metadata', { ...OWN, 'sec-fetch-site': 'cross-site', 'x-dropforge-page': '1' }],
  ['a form, which cannot set the header', OWN],
  ['a sandboxed frame', { ...OWN, origin: 'null', 'x-dropforge-page': '1' }],
])('rejects changes from %s', async (_, headers) => {
  expect(await cancelWith(headers)).toBe(403);
});

it('answers the same resource with 304, and every answer with a policy that runs nothing', async () => {
  const first = await api.request('/v1/jobs');
  const etag = first.headers.get('etag') ?? '';
  const second = await api.request('/v1/jobs', { headers: { 'if-none-match': etag } });

  expect([first.status, second.status, await second.text()]).toEqual([200, 304, '']);
  expect(first.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(first.headers.get('x-content-type-options')).toBe('nosniff');
});
