import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ApiUnderTest, openApiUnderTest } from '../../support/api/api-under-test.ts';
import { jobAfter, queuedJob } from '../../support/domain/example-job.ts';
import { searchingTuning } from '../../support/domain/example-tuning.ts';

let api: ApiUnderTest;
beforeEach(async () => {
  api = await openApiUnderTest();
});
afterEach(() => api.close());

async function create(jobId: string, createdAt: number, labels: Record<string, string> = {}): Promise<void> {
  const job = queuedJob();
  await api.ports.jobs.create({ ...job, jobId, createdAt, spec: { ...job.spec, jobId, labels } }, []);
}

async function search(query: string): Promise<readonly string[]> {
  const ids: string[] = [];
  let token = '';
  do {
    const response = await api.request(`/v1/jobs?pageSize=2&${query}${token === '' ? '' : `&pageToken=${token}`}`);
    const page = (await response.json()) as { jobs: { jobId: string }[]; nextPageToken?: string };
    expect(page.jobs.length).toBeLessThanOrEqual(2);
    ids.push(...page.jobs.map(({ jobId }) => jobId));
    token = page.nextPageToken ?? '';
  } while (token !== '');
  return ids;
}

it('finds jobs and tunings by state, text and labels, over several pages, newest first', async () => {
  await create('alpha_1', 1_000, { team: 'vision' });
  await create('beta_2', 2_000, { team: 'text', tier: 'gold' });
  await create('alpha_3', 3_000, { team: 'vision', tier: 'gold' });
  await create('alpha_4', 4_000);
  await api.ports.tunings.create(searchingTuning({ createdAt: 2_500 }), []);
  const running = jobAfter(
    queuedJob(),
    ['PLACEMENT_CHOSEN', 1_000],
    ['VMS_CREATED', 2_000],
    ['REPLICA_STARTED', 3_000],
  );
  await api.ports.jobs.create({ ...running, jobId: 'runs', createdAt: 5_000 }, []);

  expect(await search('text=ALPHA')).toEqual(['alpha_4', 'alpha_3', 'alpha_1']);
  expect(await search('label=team:vision&label=tier')).toEqual(['alpha_3']);
  expect(await search('text=gold&state=QUEUED')).toEqual(['alpha_3', 'beta_2']);
  expect(await search('state=RUNNING')).toEqual(['runs']);
  expect(await search('state=QUEUED,FAILED&text=digits')).toEqual(['digits']);
  expect(await search('label=constructor')).toEqual([]);
});

it('reads a bounded number of jobs per request, and continues where it ended', async () => {
  for (let index = 0; index < 1_005; index += 1) {
    await create(index === 0 ? 'needle' : `straw_${index}`, 10_000 + index);
  }

  const response = await api.request('/v1/jobs?text=needle');
  const page = (await response.json()) as { jobs: object[]; nextPageToken?: string };

  expect([page.jobs.length, page.nextPageToken]).toEqual([0, expect.stringMatching(/^\d+\.straw_/)]);
  expect(await search('text=needle')).toEqual(['needle']);
});

it('rejects an unknown state with the valid ones', async () => {
  const response = await api.request('/v1/jobs?state=WAITING');
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { error: { remedy: expect.stringContaining('QUEUED') } },
  ]);
});

it('sums up the VMs that are billed now', async () => {
  const running = jobAfter(
    queuedJob(),
    ['PLACEMENT_CHOSEN', 1_000],
    ['VMS_CREATED', 2_000],
    ['REPLICA_STARTED', 3_000],
  );
  await api.ports.jobs.create({ ...running, jobId: 'runs', createdAt: 5_000 }, []);
  await create('waits', 6_000);

  const summary = await (await api.request('/v1/running')).json();

  expect(summary).toMatchObject({ unfinishedJobs: 2, vms: 1, isLowerBound: false });
  expect(summary.perHourUsd).toBeGreaterThan(0);
});
