import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packAgent } from '#infra/vm-agent/pack-agent.ts';
import { classifyExit } from '#shared/diagnosis/classify-exit.ts';
import { configure, SOURCES } from '../support/agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../support/agent/vm-agent-machine.ts';
import { makeSdist } from '../support/agent/vm-agent-package.ts';
import { factsOf } from '../support/diagnosis/job-facts.ts';

const { cloud, machine, ended } = startMachineForEachTest();

const isForAgent = ({ url }: Request) => url.includes('agent%2F');

/** Answers requests for the agent with an error, so many times. */
function failFetches(status: number, { timesMax = Number.POSITIVE_INFINITY, message = 'Not now.' } = {}) {
  let times = 0;
  cloud().intercept = (request) => {
    if (!isForAgent(request) || times >= timesMax) {
      return undefined;
    }
    times += 1;
    return Response.json({ error: { code: status, message } }, { status });
  };
}

async function configureJob(setupSeconds = 60): Promise<void> {
  const printing = await makeSdist("print('trained')\n");
  configure(cloud(), [printing], ({ limits }) => ({ limits: { ...limits, setupSeconds } }));
}

const causeOf = (report: Parameters<typeof classifyExit>[0]) => classifyExit(report, factsOf('digits_1'));

describe('a VM that cannot have its agent', () => {
  it('ends its job with the permission that it lacks', async () => {
    await configureJob();
    failFetches(403, { message: 'vm does not have storage.objects.get access.' });
    const report = await ended(machine().boot());
    expect(report).toMatchObject({ reason: 'AGENT_FAILED', exitCode: null });
    expect(report.message).toMatch(/^The agent gs:\/\/sources\/agent\/[a-f0-9]{64}\.pyz could not be read: .* 403\./);
    expect(report.message).toContain(
      'Grant vm@dropforge-test.iam.gserviceaccount.com storage.objects.get on the bucket',
    );
    expect(report.evidence[0]).toContain('vm does not have storage.objects.get access.');
    expect(causeOf(report)).toMatchObject({ cause: { code: 'INTERNAL_ERROR' } });
  });

  it('ends its job with the object that is missing', async () => {
    await configureJob();
    cloud().objects.clear();
    const report = await ended(machine().boot());
    expect(report).toMatchObject({ reason: 'AGENT_FAILED', exitCode: null });
    expect(report.message).toContain('Cloud Storage answered 404. It was deleted or never uploaded: npm run build');
  });

  it('runs no agent with another SHA-256', async () => {
    await configureJob();
    const [name = ''] = [...cloud().objects.values()].filter(({ bucket }) => bucket === SOURCES).map((one) => one.name);
    cloud().put(SOURCES, name, { body: 'raise SystemExit("never run")\n' });
    const report = await ended(machine().boot());
    expect(report).toMatchObject({ reason: 'AGENT_FAILED', exitCode: null });
    expect(report.message).toContain('it does not have the SHA-256 of its name, and is not run.');
  });

  it('is given another attempt if Cloud Storage stays unreachable', async () => {
    await configureJob(0.5);
    failFetches(503);
    const report = await ended(machine().boot());
    expect(report).toMatchObject({ reason: 'SERVICE_UNREACHABLE', exitCode: null });
    expect(report.evidence[0]).toMatch(/agent%2F.*: 503/);
    expect(causeOf(report)).toMatchObject({ cause: { code: 'SERVICE_UNREACHABLE' } });
  });

  it('says that a service perimeter denies it', async () => {
    await configureJob();
    const message = 'Request is prohibited by organization’s policy. vpcServiceControlsUniqueIdentifier: AbC-123';
    failFetches(403, { message });
    expect(causeOf(await ended(machine().boot()))).toMatchObject({ cause: { code: 'PERIMETER_DENIED' } });
  });
});

it('repeats the fetch after transient errors', async () => {
  await configureJob();
  failFetches(503, { timesMax: 2 });
  expect(await ended(machine().boot())).toMatchObject({ reason: 'EXITED', exitCode: 0 });
});

describe('a reboot', () => {
  it('needs no bucket for the agent that is on the disk', async () => {
    await configureJob();
    await ended(machine().boot());
    let fetches = 0;
    cloud().intercept = (request) => {
      fetches += isForAgent(request) ? 1 : 0;
      return undefined;
    };
    cloud().objects.clear();
    await ended(machine().boot());
    expect(fetches).toBe(0);
  });

  it('replaces an agent that the program changed', async () => {
    await configureJob();
    await ended(machine().boot());
    await writeFile(join(machine().home, 'agent.pyz'), 'raise SystemExit("never run")\n');
    await ended(machine().boot());
    expect(await readFile(join(machine().home, 'agent.pyz'))).toEqual(Buffer.from((await packAgent()).bytes));
  });
});
