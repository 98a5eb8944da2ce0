import { describe, expect, it } from 'vitest';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { readableOf } from '#shared/ports/unreadable-records.ts';
import {
  parseStoredCurve,
  parseStoredTrial,
  parseStoredTuning,
  parseStoredTuningEffect,
} from '#shared/protocol/stored-tuning.ts';
import { closedTuning, runningTrial, searchingTuning } from '../../support/domain/example-tuning.ts';

describe('a stored tuning', () => {
  it('is read back in every status, without fields that a newer version added', () => {
    const common = searchingTuning();
    const closing = { ...closedTuning(), status: 'CLOSING' as const, wakeAt: 5 };
    for (const tuning of [common, { ...common, asked: null }, closing, closedTuning()]) {
      const stored = JSON.stringify({ ...JSON.parse(JSON.stringify(tuning)), addedLater: 1 });
      const { endedAt, ...expected } = tuning as ReturnType<typeof closedTuning>;
      expect(parseStoredTuning(stored)).toEqual(tuning.status === 'CLOSED' ? { ...expected, endedAt } : expected);
    }
  });

  it('of a version that trained populations is one of Bayesian optimization, without their fields', () => {
    const { study } = searchingTuning();
    const stored = JSON.stringify(
      searchingTuning({ study: { ...study, algorithm: 'POPULATION_BASED' as 'BAYESIAN' } }),
    );
    expect(parseStoredTuning(stored)).toEqual(searchingTuning({ study: { ...study, algorithm: 'BAYESIAN' } }));
    const trial = { ...runningTrial(3), lineage: { member: 2, generation: 3, parent: 1 } };
    expect(parseStoredTrial(JSON.stringify(trial))).toEqual(runningTrial(3));
  });

  it('has a cause that is unknown here as an internal error, with its message', () => {
    const tuning = closedTuning();
    const cause = { ...tuning.verdict.cause, code: 'ADDED_LATER', message: 'It ended.', evidence: [] };
    const stored = JSON.stringify({ ...tuning, verdict: { ...tuning.verdict, cause } });
    expect(parseStoredTuning(stored)).toMatchObject({
      verdict: { cause: { code: 'INTERNAL_ERROR', message: 'It ended.' } },
    });
  });

  it('is named, with the field, if no version could have written it', () => {
    const broken = JSON.stringify({ ...searchingTuning(), wakeAt: 'soon' });
    expect(() => parseStoredTuning(broken)).toThrow(/stored tuning of tuning digits.*wakeAt/s);
    const trial = JSON.stringify({ ...JSON.parse(JSON.stringify(runningTrial(3))), ordinal: 0 });
    expect(() => parseStoredTrial(trial)).toThrow(/stored trial of tuning digits.*ordinal/s);
    expect(() => parseStoredCurve('{"tuningId":"digits"}')).toThrow(/stored curve of tuning digits/);
    expect(() => parseStoredTuningEffect('{"type":"DANCE","tuningId":"digits"}')).toThrow(/stored outbox entry/);
  });

  it('that cannot be read does not hide the others in a list', async () => {
    const database = openDatabase(':memory:');
    const store = openSqliteTuningStore(database);
    for (const tuningId of ['a', 'b', 'c']) {
      await store.create(searchingTuning({ tuningId }), []);
    }
    database.sql.exec(`update tunings set body = '{"tuningId":"b"}' where tuning_id = 'b'`);
    const { items, error } = await readableOf(store.list({ countMax: 10 }));
    expect(items.map(({ tuningId }) => tuningId)).toEqual(['a', 'c']);
    expect(error?.message).toContain('tuning b');
    await expect(store.read('b')).rejects.toThrow('tuning b');
    database.close();
  });
});
