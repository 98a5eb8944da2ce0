import { Firestore } from '@google-cloud/firestore';
import { expect, it } from 'vitest';
import { createFirestoreChangeFeed } from '#infra/google-cloud/firestore/firestore-change-feed.ts';

const NOW = 1_800_000_000_000;

it.each([
  'db.999999999999999.999999999999999.999999999999999.0',
  `db.${NOW}.999999999999999.${NOW}.${NOW}`,
  `db.${NOW}.${NOW}.${NOW + 60_000}.${NOW}`,
  `db.${NOW}.${NOW}.${NOW}.999999999999999`,
])('answers the marker "%s" of a time to come with everything, without a query', async (marker) => {
  const feed = createFirestoreChangeFeed(new Firestore({ projectId: 'p' }), 'db', { now: () => NOW });
  expect(await feed.list({ marker })).toEqual({
    changes: [],
    isEverything: true,
    marker: `db.${NOW}.${NOW}.${NOW}.${NOW}`,
    pollAfterMs: 5_000,
  });
});
