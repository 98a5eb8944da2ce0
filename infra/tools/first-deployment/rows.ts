import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { CHANNEL } from '#infra/tools/first-deployment/configuration.ts';
import type { Row } from '#infra/tools/first-deployment/row.ts';
import { LOCK, type Tools, Unexpected } from '#infra/tools/first-deployment/tools.ts';

const STEPS = 10;
/** For hours: the job is cancelled. */
const STEPS_WITHOUT_END = 100_000;

export const ROWS: readonly Row[] = [
  { id: 'apply', expected: 'applied, at most by a second apply', needs: null, secondsMax: 3_600, run: apply },
  {
    id: 'notification',
    expected: 'sent; without --webhook, HTTP 4xx of the API, which rejects calls without a token',
    needs: 'apply',
    secondsMax: 300,
    run: testChannel,
  },
  {
    id: 'train',
    expected: `SUCCEEDED, with its log, and step ${STEPS} in its job directory`,
    needs: 'apply',
    secondsMax: 1_800,
    hasJob: true,
    run: train,
  },
  {
    id: 'preempt',
    expected: 'attempt 1 ended by PREEMPTED',
    needs: 'train',
    secondsMax: 1_800,
    hasJob: true,
    run: preempt,
  },
  {
    id: 'resume',
    expected: 'attempt 2 begins after a step that attempt 1 has saved',
    needs: 'preempt',
    secondsMax: 1_800,
    run: resume,
  },
  { id: 'cancel', expected: 'CANCELLED, and no VM is listed', needs: 'train', secondsMax: 900, run: cancel },
  {
    id: 'dead-letter',
    expected: 'on-dead-letter logs a message of control after 5 deliveries',
    needs: 'apply',
    secondsMax: 600,
    run: exhaustDeliveries,
  },
];

async function apply({ must, run, terraform, gcloud, deploymentPath, webhook, readDeployment }: Tools) {
  await must(terraform('init', '-input=false'));
  const command = terraform('apply', '-auto-approve', '-input=false', LOCK);
  // In a new project, service agents and grants take some minutes to become available.
  const isFirst = (await run(command)).status === 0;
  if (!isFirst) {
    await must(command);
  }
  await writeFile(deploymentPath, await must(terraform('output', '-json', 'deployment')));
  const address = webhook ?? `${(await readDeployment()).api}/hook`;
  const addVersion = (secret: string) => gcloud('secrets', 'versions', 'add', secret, '--data-file=-');
  await must(addVersion(CHANNEL.secret), address);
  await must(addVersion(CHANNEL.signing_secret), `whsec_${randomBytes(32).toString('base64')}`);
  return `applied by the ${isFirst ? 'first' : 'second'} apply`;
}

async function testChannel({ run, dropforge, webhook }: Tools) {
  const { stdout, stderr } = await run(dropforge('notify', 'test', CHANNEL.name));
  return expectThat((webhook === undefined ? /HTTP 4\d\d/ : / {2}sent/).test(stdout), (stdout + stderr).trim());
}

async function train({ must, dropforge, submit, readJob, readDeployment }: Tools) {
  const jobId = await submit('train', { steps: STEPS, spot: false });
  const log = await must(dropforge('jobs', 'stream-logs', jobId));
  const { state, timeline } = await readJob('train');
  const saved = (await must(dropforge('cat', `gs://${(await readDeployment()).jobsBucket}/${jobId}/step.json`))).trim();
  const isLogged = log.includes(`counted ${STEPS}`);
  const seen = `${state} in ${timeline[0]?.zone}, ${isLogged ? 'with' : 'without'} its last line, and ${saved}`;
  return expectThat(state === 'SUCCEEDED' && isLogged && saved.includes(String(STEPS)), seen);
}

async function preempt({ must, gcloud, submit, readJob, readLog, until }: Tools) {
  const jobId = await submit('preempt', { steps: STEPS_WITHOUT_END, spot: true });
  await until(async () => (await readLog(jobId)).includes(`counted ${STEPS}`));
  const { replicas, placement } = await readJob('preempt');
  const vm = [replicas[0]?.vmName ?? '', `--zone=${placement?.zone}`];
  await must(gcloud('compute', 'instances', 'simulate-maintenance-event', ...vm, '--async'));
  const { cause, zone } = await until(async () => (await readJob('preempt')).attempts[0]);
  return expectThat(cause === 'PREEMPTED', `attempt 1 ended by ${cause} in ${zone}`);
}

async function resume({ jobIdOf, readJob, readLog, until }: Tools) {
  const [, step] = await until(async () => {
    const begins = [...(await readLog(jobIdOf('preempt'))).matchAll(/begins after step (\d+)/g)];
    return begins.at(1);
  });
  const { attempt, placement } = await readJob('preempt');
  return expectThat(Number(step) > 0, `attempt ${attempt} in ${placement?.zone} began after step ${step}`);
}

async function cancel({ must, dropforge, jobIdOf, readJob, listVms, until }: Tools) {
  await must(dropforge('jobs', 'cancel', jobIdOf('preempt')));
  const { state } = await until(async () => {
    const job = await readJob('preempt');
    return job.endTime !== null && job;
  });
  await until(async () => (await listVms()).length === 0);
  return expectThat(state === 'CANCELLED', `${state}, and no VM is listed`);
}

/** A cancel of an unknown job is rejected for 10 minutes. Ten deliveries with their backoff would take 40 minutes. */
async function exhaustDeliveries({ must, gcloud, until, runId }: Tools) {
  const retries = ['--max-delivery-attempts=5', '--min-retry-delay=10s', '--max-retry-delay=10s'];
  const since = `timestamp>="${new Date().toISOString()}"`;
  const letters = '--dead-letter-topic=dropforge-dead-letters';
  await must(gcloud('pubsub', 'subscriptions', 'update', 'dropforge-control', letters, ...retries));
  const message = JSON.stringify({ command: 'cancel', jobId: `first_${runId}_none` });
  const published = await must(gcloud('pubsub', 'topics', 'publish', 'dropforge-control', `--message=${message}`));
  const messageId = /\d+/.exec(published)?.[0] ?? '';
  const filter = `${since} resource.labels.service_name="dropforge-on-dead-letter" "message exhausted its deliveries"`;
  const fields = '--format=value(jsonPayload.topic,jsonPayload.tries,jsonPayload.messageId)';
  const logged = await until(async () => {
    const lines = (await must(gcloud('logging', 'read', filter, fields))).split('\n');
    return lines.find((line) => line.startsWith('control'));
  });
  return expectThat(/^control\s+5\s/.test(logged), `message ${messageId}: ${logged.replaceAll(/\s+/g, ' ')}`);
}

function expectThat(isExpected: boolean, seen: string): string {
  if (!isExpected) {
    throw new Unexpected(seen);
  }
  return seen;
}
