import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';

let api: ApiUnderTest;
beforeEach(async () => {
  api = await openApiUnderTest();
});
afterEach(() => api.close());

it('sends a thousand changes of three jobs as one event', async () => {
  const response = await api.request('/v1/changes');
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toContain('retry:');
  for (let index = 0; index < 1_000; index += 1) {
    api.changes.publish(`job_${index % 3}`);
  }

  const event = await reader?.read();

  expect(event?.value).toBe('event: change\ndata: {"jobIds":["job_0","job_1","job_2"]}\n\n');
  await reader?.cancel();
});

it('names no jobs when too many changed for one event', async () => {
  const reader = (await api.request('/v1/changes')).body?.pipeThrough(new TextDecoderStream()).getReader();
  await reader?.read();
  for (let index = 0; index < 501; index += 1) {
    api.changes.publish(`job_${index}`);
  }

  expect((await reader?.read())?.value).toContain('"isEverything":true');
  await reader?.cancel();
});

it('rejects the connection beyond the limit, and accepts one when another has ended', async () => {
  const open = await Promise.all(Array.from({ length: 100 }, () => api.request('/v1/changes')));
  expect((await api.request('/v1/changes')).status).toBe(503);
  await Promise.all(open.map((response) => response.body?.cancel()));

  const next = await api.request('/v1/changes');

  expect(next.status).toBe(200);
  await next.body?.cancel();
});

it('answers 404 if changes are not known, so that clients poll', async () => {
  const deployed = await openApiUnderTest({ changes: undefined });
  expect((await deployed.request('/v1/changes')).status).toBe(404);
  await deployed.close();
});
