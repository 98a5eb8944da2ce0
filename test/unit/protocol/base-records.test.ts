import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { TOPICS, type Topic } from '#shared/ports/message-bus.ts';
import { readSubmitted } from '#shared/ports/read-submitted.ts';
import { jobUpdatesMessageSchema } from '#shared/protocol/job-update.ts';
import {
  controlMessageSchema,
  interruptionMessageSchema,
  provisionMessageSchema,
  storageObjectSchema,
  teardownMessageSchema,
  tuningMessageSchema,
} from '#shared/protocol/stage-message.ts';
import { defineJob } from '#shared/views/define-job.ts';
import {
  BASE_DATABASE_FILE,
  type BaseDatabase,
  CHANNEL,
  openStores,
  type Row,
  restore,
} from '../../support/upgrade/base-database.ts';

/** The records and messages of the base version, v0.1.0; written by test/repository/write-base.ts. */
const BASE = JSON.parse(readFileSync(BASE_DATABASE_FILE, 'utf8')) as BaseDatabase;

/** How each topic's messages are read. A tick is a signal without content, and a dead letter has that of its topic. */
const SCHEMAS: Readonly<Record<Exclude<Topic, 'submit' | 'dead-letters'>, z.ZodType>> = {
  uploads: storageObjectSchema,
  control: controlMessageSchema,
  provision: provisionMessageSchema,
  teardown: teardownMessageSchema,
  tuning: tuningMessageSchema,
  'job-updates': jobUpdatesMessageSchema,
  tick: z.looseObject({}),
  interruptions: interruptionMessageSchema,
};

function openBase() {
  const database = openDatabase(':memory:');
  restore(BASE, database);
  return openStores(database);
}

const rowsOf = (table: string) => BASE.rows[table] ?? [];
const bodiesOf = (table: string) => rowsOf(table).map(({ body }) => body as Row);
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));

/** Reads what a message of the base says; a subscription of a channel has the messages of `job-updates`. */
function read(topic: string, data: string): unknown {
  if (topic === 'submit') {
    const { problems, draft } = readJobFile(data, { fileName: 'the message' });
    return problems.length === 0 ? draft : undefined;
  }
  const name = topic === CHANNEL ? 'job-updates' : topic;
  return SCHEMAS[name as keyof typeof SCHEMAS].safeParse(JSON.parse(data)).data;
}

describe('over the database of the base version', () => {
  const { jobs, replicas, tunings, curves, capacity, notifications, bus } = openBase();

  it('every job is read with all that was stored of it, and its outbox', async () => {
    expect(new Set(bodiesOf('jobs').map(({ status }) => status))).toEqual(
      new Set(['QUEUED', 'PREPARING', 'RUNNING', 'CLOSING', 'CLOSED']),
    );
    for (const body of bodiesOf('jobs')) {
      expect(asJson((await jobs.read(String(body.jobId)))?.record)).toMatchObject(body);
    }
    const outbox = await Promise.all((await jobs.listWithOutbox(10)).map((jobId) => jobs.listOutbox(jobId)));
    expect(outbox.flat().map(({ effect }) => effect)).toEqual(bodiesOf('owed_effects'));
  });

  it('an event that was handled is not handled again', async () => {
    const { record, revision } = (await jobs.read('waiting')) ?? {};
    const [, handled] = rowsOf('handled_events').filter((row) => row.job_id === 'waiting');
    const commit = { expectedRevision: revision ?? 0, eventId: String(handled?.event_id), effects: [] };
    expect(record === undefined ? undefined : await jobs.commit({ ...commit, record })).toBe('DUPLICATE');
  });

  it('every tuning, trial and curve is read with all that was stored of it', async () => {
    for (const body of bodiesOf('tunings')) {
      expect(asJson((await tunings.read(String(body.tuningId)))?.record)).toMatchObject(body);
    }
    for (const body of bodiesOf('trials')) {
      expect(asJson(await tunings.readTrial(String(body.tuningId), Number(body.ordinal)))).toMatchObject(body);
    }
    for (const body of bodiesOf('curves')) {
      expect(asJson(await curves.read(String(body.tuningId), Number(body.ordinal)))).toMatchObject(body);
    }
    expect((await tunings.listOutbox('searching')).map(({ effect }) => effect)).toEqual(bodiesOf('tuning_outbox'));
  });

  it('every job and tuning, stored without its text, has a definition and a command, which says that it can lack a part', async () => {
    const ids = [...bodiesOf('jobs').map(({ jobId }) => jobId), ...bodiesOf('tunings').map(({ tuningId }) => tuningId)];
    for (const id of ids.map(String)) {
      const submitted = await readSubmitted({ jobs, tunings }, id);
      const definition = submitted && (await defineJob({ tunings }, submitted));
      expect(definition?.isComplete, id).toBe(false);
      expect(readJobFile(definition?.repetition.jobFile ?? '', { fileName: 'job.yaml' }).problems, id).toEqual([]);
    }
  });

  it('replicas, capacity failures and notifications are found', async () => {
    for (const body of bodiesOf('replicas')) {
      expect(asJson(await replicas.findByInstance(String(body.instanceId)))).toMatchObject(body);
    }
    for (const row of rowsOf('capacity_refusals')) {
      const query = { machineKey: String(row.machine_key), provisioningModel: 'SPOT' as const, since: 0 };
      expect(await capacity.recall(query)).toMatchObject([{ zone: row.zone, failedAt: row.refused_at }]);
    }
    expect(asJson(await notifications.listNewest(10))).toMatchObject(bodiesOf('notifications'));
  });

  it('every message in flight is delivered to its subscription, and read with all that it says', () => {
    const types = new Set<string>();
    for (const topic of [...TOPICS, CHANNEL] as const) {
      const deliveries = bus.pull({ topic, countMax: 100, ackDeadlineAt: 60_000 });
      expect(deliveries.length, topic).toBeGreaterThan(0);
      for (const { data, attributes } of deliveries) {
        const text = Buffer.from(data, 'base64').toString();
        const { type = topic } = JSON.parse(text) as { readonly type?: string };
        types.add(type);
        const of = attributes.CloudPubSubDeadLetterSourceSubscription ?? topic;
        const found = read(of, text);
        expect(found, `${of} ${text}`).toBeDefined();
        // Only the needed fields of messages that Google and users write are read.
        if (!['uploads', 'interruptions', 'submit'].includes(of)) {
          expect(found).toMatchObject(JSON.parse(text));
        }
      }
    }
    expect([...types]).toEqual(expect.arrayContaining(['PROVISION', 'TEARDOWN', 'SWEEP', 'SUGGEST', 'START_TRIAL']));
    expect([...types]).toEqual(expect.arrayContaining(['STOP_TRIAL', 'REPORT_TRIAL', 'REPORT_RUNG', 'JOB_UPDATE']));
    expect([...types]).toEqual(expect.arrayContaining(['UPLOAD_REFUSED', 'NOTIFICATION_TEST', 'TICK', 'control']));
  });
});
