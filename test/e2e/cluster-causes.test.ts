import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CloudUnderTest, packProgram, startCloudUnderTest, until } from '../support/e2e/cloud-under-test.ts';

/** Rank 0 listens at MASTER_PORT, and each rank exchanges bytes with it until `end` of the rank says otherwise. */
const CONNECTED = `
import os, socket, sys, time
rank, size = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])
address = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))
print('rank', rank, 'of', size, flush=True)
if rank == 0:
    server = socket.create_server(('', address[1]))
    if 'port' in sys.argv:
        socket.create_server(('', address[1]))
    peers = [server.accept()[0] for _ in range(size - 1)]
else:
    for _ in range(600):
        try:
            peers = [socket.create_connection(address)]
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
for step in range(10**9):
    if rank == 2 and 'early' in sys.argv and step == 20:
        sys.exit(0)
    for peer in peers:
        peer.sendall(b'x')
        if not peer.recv(1):
            raise ConnectionError('connection closed by peer')
    time.sleep(0.05)
`;

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ timeouts: { heartbeatMs: 300, syncMs: 300 }, stopGraceSeconds: 0.2, vmsMax: 4 });
});
afterAll(() => cloud.stop());

async function submit(jobId: string, args: readonly string[], workers = 2): Promise<void> {
  const job = { name: jobId, module: 'trainer.task', args, workers };
  await cloud.upload(`${jobId}.tar.gz`, await packProgram(CONNECTED, job));
}

it('a cluster runs when all of its programs do, and has the log of each replica', async () => {
  await submit('seen', []);
  const { replicas } = await cloud.awaitJob('seen', ({ state }) => state === 'RUNNING');
  expect(replicas.map(({ replica, phase }) => [replica, phase])).toEqual([
    ['master-0', 'RUNNING'],
    ['worker-0', 'RUNNING'],
    ['worker-1', 'RUNNING'],
  ]);
  const texts = await until('the log of worker-1', async () => {
    const response = await fetch(`${cloud.endpoints.api}/v1/jobs/seen/logs?replica=worker-1`);
    const { entries } = (await response.json()) as { readonly entries: readonly { stream: string; text: string }[] };
    const printed = entries.filter(({ stream }) => stream === 'stdout').map(({ text }) => text);
    return printed.length === 0 ? undefined : printed;
  });
  expect(texts).toEqual(['rank 2 of 3']);
  await cloud.cancel('seen');
  await cloud.awaitJob('seen');
});

it('a worker that exits with 0 early is the cause of the failure of those that lose their connection to it', async () => {
  await submit('early', ['early']);
  const { state, cause } = await cloud.awaitJob('early');
  expect(state).toBe('FAILED');
  expect(cause).toMatchObject({
    code: 'REPLICA_ENDED_EARLY',
    message: expect.stringMatching(
      /^The program of worker-1 ended with exit code 0, and others lost their connection to it\./,
    ),
    remedy: expect.stringContaining('the same number of steps'),
  });
});

it('a port of the rendezvous that is in use is a cause that names the master and what to do', async () => {
  await submit('port', ['port']);
  const { cause, replicas } = await cloud.awaitJob('port');
  expect(cause).toMatchObject({
    message: expect.stringMatching(/^Replica master-0 failed first: A port that the program opens is in use\./),
    remedy: expect.stringContaining('MASTER_PORT: only one process of the master opens that port'),
  });
  expect(replicas[0]).toMatchObject({ replica: 'master-0', exitCode: 1, cause: { code: 'PROGRAM_FAILED' } });
});

it('a cluster that no zone can hold is rejected with its number of VMs and the limit, before any is created', async () => {
  await submit('large', [], 40);
  const { problems } = await cloud.awaitReport('large.tar.gz.report.json');
  expect(JSON.stringify(problems)).toMatch(/41.*at most 4 VMs/);
  expect(await cloud.listVms()).toEqual([]);
});
