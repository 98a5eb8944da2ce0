import { hasTerraform } from './terraform.ts';

/** Says once for all files why there is nothing to see. */
export function setup(): void {
  if (!hasTerraform()) {
    process.stdout.write('The tests of terraform/ are left out: there is no terraform on this machine.\n');
  }
}
