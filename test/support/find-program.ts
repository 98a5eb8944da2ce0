import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of a program in the first folder of PATH that has it; undefined if none does. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
