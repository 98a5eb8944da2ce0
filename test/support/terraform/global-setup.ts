import { hasTerraform } from './terraform.ts';

/** Prints once why these tests are skipped. */
export function setup(): void {
  if (!hasTerraform()) {
    process.stdout.write('The tests of terraform/ are skipped: terraform is not installed.\n');
  }
}
