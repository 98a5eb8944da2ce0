import type { Database } from '#infra/embedded/data-dir/database.ts';

/**
 * The zones that have an injected fault, in SQLite: a lack of capacity, or an outage, in which their VMs keep running.
 */
export type FaultyZones = {
  set(zone: string, isFaulty: boolean): void;
  list(): readonly string[];
};

export function openFaultyZones({ sql }: Database, table: 'zone_outages' | 'zone_stockouts'): FaultyZones {
  sql.exec(`create table if not exists ${table} (zone text primary key) strict;`);
  const add = sql.prepare(`insert or ignore into ${table} values (?)`);
  const remove = sql.prepare(`delete from ${table} where zone = ?`);
  const all = sql.prepare(`select zone from ${table} order by zone`);
  return {
    set: (zone, isFaulty) => void (isFaulty ? add : remove).run(zone),
    list: () => all.all().map(({ zone }) => String(zone)),
  };
}
