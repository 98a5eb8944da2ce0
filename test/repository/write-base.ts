import { writeFileSync } from 'node:fs';
import { BASE_FILE, BASE_VARIABLES, toBase } from '../support/terraform/base-state.ts';
import { apply } from '../support/terraform/deployed-state.ts';
import { copyTerraform } from '../support/terraform/terraform.ts';

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
