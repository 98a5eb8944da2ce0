import { writeFileSync } from 'node:fs';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { BASE_FILE, BASE_VARIABLES, toBase } from '../support/terraform/base-state.ts';
import { apply } from '../support/terraform/deployed-state.ts';
import { copyTerraform } from '../support/terraform/terraform.ts';
import { BASE_DATABASE_FILE, dump, openStores } from '../support/upgrade/base-database.ts';
import { writeBaseRecords } from '../support/upgrade/write-base-records.ts';

const terraform = await copyTerraform();
try {
  const base = toBase(await apply(terraform, '.', BASE_VARIABLES));
  const lines = Object.entries(base).map(
    ([address, values]) => `  ${JSON.stringify(address)}: ${JSON.stringify(values)}`,
  );
  writeFileSync(BASE_FILE, `{\n${lines.join(',\n')}\n}\n`);
} finally {
  await terraform.close();
}

const stores = openStores(openDatabase(':memory:'));
await writeBaseRecords(stores);
const { schema, rows } = dump(stores);
const listed = (items: readonly unknown[]) => items.map((item) => `    ${JSON.stringify(item)}`).join(',\n');
const tables = Object.entries(rows).map(([name, found]) => `    ${JSON.stringify(name)}: [\n${listed(found)}\n    ]`);
const text = `{\n  "schema": [\n${listed(schema)}\n  ],\n  "rows": {\n${tables.join(',\n')}\n  }\n}\n`;
writeFileSync(BASE_DATABASE_FILE, text);
stores.database.close();
