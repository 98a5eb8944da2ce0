import { expect, it } from 'vitest';
import { readError, unreachable } from '#dashboard/client/api-error.ts';

it('a login that has ended, which Identity-Aware Proxy answers without the API, is renewed by a reload', async () => {
  // With a redirect to a login of another origin, which a request of a page cannot follow, or with 401.
  const errors = [unreachable(), await readError(new Response('<html></html>', { status: 401 }))];
  expect(errors.map(({ remedy }) => remedy)).toEqual([
    expect.stringMatching(/^Reload the page/),
    expect.stringMatching(/^Reload the page/),
  ]);
});
