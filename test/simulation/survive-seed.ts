import { AssertionError } from 'node:assert/strict';
import { createWorld, type Mechanism } from './simulated-world.ts';

const FAULTY_STEPS = 2_500;
const CALM_STEPS_MAX = 40_000;

/** How long a world may take to come to rest once nothing fails any more. */
const CALM_MS_MAX = 4 * 3_600_000;

const JOB_IDS = ['steady', 'wide', 'broken'];

type World = ReturnType<typeof createWorld>;

/** One seed: faults for a while, then none until the world is at rest. What it resolves with are the broken promises. */
export async function surviveSeed(seed: number, without: readonly Mechanism[] = []): Promise<readonly string[]> {
  const world = createWorld(seed, without);
  const cancelled = new Set<string>();
  for (const jobId of JOB_IDS) {
    await world.submit(jobId);
    if (world.prng.chance(0.2)) {
      cancelled.add(jobId);
      world.cancelLater(jobId, world.prng.integer(1_200_000));
    }
  }
  try {
    for (let step = 0; step < FAULTY_STEPS; step += 1) {
      await world.step();
    }
    world.stopFaults();
    await rest(world);
    return [...(await judgeRest(world)), ...(await judgeVerdicts(world, cancelled))];
  } catch (error) {
    if (error instanceof AssertionError) {
      return [error.message];
    }
    throw error;
  } finally {
    world.close();
  }
}

async function rest(world: World): Promise<void> {
  const calmSince = world.now();
  for (let step = 0; step < CALM_STEPS_MAX; step += 1) {
    if (world.now() - calmSince > CALM_MS_MAX || !(await world.isBusy())) {
      return;
    }
    await world.step();
  }
}

async function judgeRest(world: World): Promise<readonly string[]> {
  const owing = await world.jobs.listOwing(10);
  const vms = world.cloud.all().map(({ vmName, status }) => `VM ${vmName} is still billed (${status})`);
  return [...vms, ...owing.map((jobId) => `job ${jobId} still owes effects`)];
}

async function judgeVerdicts(world: World, cancelled: ReadonlySet<string>): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const jobId of JOB_IDS) {
    const job = (await world.jobs.read(jobId))?.job;
    if (job?.status !== 'CLOSED') {
      problems.push(`job ${jobId} never ended: ${job?.status}`);
      continue;
    }
    const { state, cause } = job.verdict;
    const exitCode = state === 'SUCCEEDED' ? 0 : 1;
    const isProgrammed = state === 'SUCCEEDED' || cause?.code === 'PROGRAM_FAILED';
    if (isProgrammed && !world.finished.has(`${jobId}/${job.attempt}/${exitCode}`)) {
      problems.push(`job ${jobId} ${state} by attempt ${job.attempt}, whose program never ended so`);
    }
    if (!isProgrammed && !(state === 'CANCELLED' && cancelled.has(jobId)) && cause?.code !== 'BOOT_FAILED_REPEATEDLY') {
      problems.push(`job ${jobId} ended as ${state} for ${cause?.code}`);
    }
  }
  return problems;
}
