import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TrialView } from '#shared/protocol/tuning-view.ts';
import { type CloudUnderTest, jobFile, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { openFrameworkEnvironment, selectInstalled } from '../support/frameworks/framework-environment.ts';

const RUN_MS_MAX = 600_000;
const AGENT = new URL('../../infra/vm-agent', import.meta.url).pathname;
const WRITERS = new URL('../support/frameworks/event_writers.py', import.meta.url).pathname;

const environment = await openFrameworkEnvironment();
const python = environment.python ?? 'python3';

type Read = {
  readonly scalars: readonly (readonly [name: string, step: number, value: number])[];
  readonly expected: readonly number[] | null;
};

describe('the agent reads the event file that a framework writes, cut anywhere', () => {
  async function read(writer: string): Promise<Read> {
    const folder = await mkdtemp(join(tmpdir(), 'dropforge-events-'));
    try {
      const { stdout } = await promisify(execFile)(python, ['-B', WRITERS, AGENT, writer, folder]);
      return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  const valuesOf = ({ scalars }: Read, tag: string) =>
    scalars.filter(([name]) => name === tag).map(([, , value]) => value);

  it.each(
    selectInstalled(environment, [
      { writer: 'tensorboard', requires: ['tensorboard'] },
      { writer: 'torch', requires: ['torch', 'tensorboard'] },
      { writer: 'tensorflow_1', requires: ['tensorflow-cpu'] },
      { writer: 'tensorflow_2', requires: ['tensorflow-cpu'] },
    ]),
  )('with $writer', { timeout: RUN_MS_MAX }, async ({ writer }) => {
    expect(valuesOf(await read(writer), 'loss')).toEqual([0.5, 1.5, 2.5]);
  });

  it.each(selectInstalled(environment, [{ writer: 'keras', requires: ['tensorflow-cpu'] }]))(
    "with $writer's callback, of which the validation counts",
    { timeout: RUN_MS_MAX },
    async ({ writer }) => {
      const keras = await read(writer);
      expect(keras.expected).toHaveLength(3);
      for (const [index, value] of valuesOf(keras, 'epoch_loss').entries()) {
        expect(value).toBeCloseTo(keras.expected?.[index] ?? 0, 6);
      }
    },
  );
});

/** TensorFlow writes the log directory itself to the bucket, past the agent's disk. */
const KERAS = `
import argparse, os
import tensorflow as tf
parser = argparse.ArgumentParser()
parser.add_argument('--rate', type=float)
parser.add_argument('--job-dir')
args = parser.parse_args()
model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1, kernel_initializer='zeros')])
model.compile(tf.keras.optimizers.SGD(args.rate), 'mse')
ones = tf.ones((4, 1))
board = tf.keras.callbacks.TensorBoard(os.environ['AIP_CHECKPOINT_DIR'] + 'logs')
history = model.fit(ones, ones, validation_data=(ones, ones), epochs=4, verbose=0, callbacks=[board]).history
print('objective', history['val_loss'][-1])
`;

const TORCH = `
import argparse, os
import torch
from torch.utils.tensorboard import SummaryWriter
parser = argparse.ArgumentParser()
parser.add_argument('--rate', type=float)
parser.add_argument('--job-dir')
args = parser.parse_args()
weight = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=args.rate)
with SummaryWriter(os.environ['AIP_TENSORBOARD_LOG_DIR']) as writer:
    for step in range(4):
        loss = (weight - 1).square().sum()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        writer.add_scalar('epoch_loss', loss.item(), step)
print('objective', loss.item())
`;

describe('a tuning whose trials report by event files only', () => {
  let cloud: CloudUnderTest;

  beforeAll(async () => {
    cloud = await startCloudUnderTest({ machineImages: [{ name: 'frameworks', python }], vmsMax: 2 });
  });

  afterAll(() => cloud.stop());

  it.each(
    selectInstalled(environment, [
      { jobId: 'with_keras', program: KERAS, requires: ['tensorflow-cpu'] },
      { jobId: 'with_torch', program: TORCH, requires: ['torch', 'tensorboard'] },
    ]),
  )('has their objectives $jobId', { timeout: RUN_MS_MAX }, async ({ jobId, program }) => {
    const hyperparameters = {
      goal: 'MINIMIZE',
      hyperparameterMetricTag: 'epoch_loss',
      maxTrials: 2,
      maxParallelTrials: 1,
      params: [{ parameterName: 'rate', type: 'DOUBLE', minValue: 0.01, maxValue: 0.3 }],
    };
    await cloud.upload(`${jobId}.tar.gz`, await packProgram(program, jobFile(jobId, { hyperparameters })));
    const job = await cloud.awaitJob(jobId, undefined, RUN_MS_MAX);
    expect(job, JSON.stringify(job.cause)).toMatchObject({ state: 'SUCCEEDED', tuning: { counts: { succeeded: 2 } } });
    const response = await fetch(`${cloud.endpoints.api}/v1/jobs/${jobId}/trials`);
    const { trials } = (await response.json()) as { readonly trials: readonly TrialView[] };
    for (const { trialId, objective } of trials) {
      const lines = (await cloud.readLog(`${jobId}_trial_${trialId}`)).map(({ text }) => text);
      const printed = lines.find((line) => line.startsWith('objective'))?.split(' ')[1];
      expect(objective).toBeCloseTo(Number(printed), 6);
    }
  });
});
