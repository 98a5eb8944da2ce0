import { listFunctions } from './functions.ts';
import { listModels } from './models.ts';
import type { Problem } from './problem.ts';
import { listTables } from './tables.ts';

export function listProblems(): readonly Problem[] {
  return [...listFunctions(), ...listModels(), ...listTables()];
}
