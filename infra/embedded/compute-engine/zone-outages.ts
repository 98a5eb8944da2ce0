import type { Database } from '#infra/embedded/data-dir/database.ts';
import { IncompleteListError, type VmProvider } from '#shared/ports/vm-provider.ts';

/** The zones that an injected fault makes unreachable, in SQLite. Their VMs keep running. */
export type ZoneOutages = {
  set(zone: string, isUnreachable: boolean): void;
  list(): readonly string[];
};

const SCHEMA = 'create table if not exists zone_outages (zone text primary key) strict;';

export function openZoneOutages({ sql }: Database): ZoneOutages {
  sql.exec(SCHEMA);
  const statements = {
    add: sql.prepare('insert or ignore into zone_outages values (?)'),
    remove: sql.prepare('delete from zone_outages where zone = ?'),
    all: sql.prepare('select zone from zone_outages order by zone'),
  };
  return {
    set: (zone, isUnreachable) => void (isUnreachable ? statements.add : statements.remove).run(zone),
    list: () => statements.all.all().map(({ zone }) => String(zone)),
  };
}

/** The VMs as the functions see them: those of an unreachable zone are not listed, and requests for them fail. */
export function withOutages(vms: VmProvider, outages: ZoneOutages): VmProvider {
  const reach = <Vm extends { readonly zone: string }>(vm: Vm): Vm => {
    if (outages.list().includes(vm.zone)) {
      throw new Error(`Zone ${vm.zone} is unreachable. Retry the request.`);
    }
    return vm;
  };
  return {
    create: async (request) => vms.create(reach(request)),
    findShortage: async (requests) => vms.findShortage(requests.map(reach)),
    find: async (vm) => vms.find(reach(vm)),
    delete: async (vm, options) => vms.delete(reach(vm), options),
    async list(query) {
      const unreachable = outages.list();
      const listed = await vms.list(query);
      if (unreachable.length === 0) {
        return listed;
      }
      throw new IncompleteListError(
        unreachable,
        listed.filter(({ zone }) => !unreachable.includes(zone)),
      );
    },
  };
}
