import { readFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { type JobDraft, masterOf } from '#shared/job-file/draft/job-draft.ts';
import { readDropforgeJob } from '#shared/job-file/formats/dropforge/read.ts';
import { createFindings, type Findings, inFileOrder } from '#shared/job-file/parser/findings.ts';
import { parseSource } from '#shared/job-file/parser/parse-source.ts';

const FOLDER = new URL('../../fixtures/job-files/', import.meta.url);

/** Valid fixtures in Dropforge's own format. */
export const VALID_FILES = [
  'own-minimal.yaml',
  'own-all-fields.yaml',
  'own-container.yaml',
  'own-cluster.yaml',
  'own-tuning.yaml',
  'own-retired-gpu.yaml',
] as const;

export function fixture(file: string): string {
  return readFileSync(new URL(file, FOLDER), 'utf8');
}

/** Reads Dropforge's own format without validation. */
export function readOwn(text: string): Findings & { readonly draft: JobDraft } {
  const { root, problems } = parseSource(text, 'job.yaml');
  if (root === null) {
    throw new Error(problems.map(({ message }) => message).join(' '));
  }
  const findings = createFindings();
  const draft = readDropforgeJob({ path: '', node: root }, findings);
  return { ...findings, problems: [...problems, ...inFileOrder(findings.problems)], draft };
}

export function printYaml(job: unknown): string {
  return stringify(job, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** A draft's values without their locations: each `Located` becomes its value. */
export function valuesOf(part: unknown): unknown {
  if (Array.isArray(part)) {
    return part.map(valuesOf);
  }
  if (typeof part !== 'object' || part === null) {
    return part;
  }
  const entries = Object.entries(part).filter(
    ([name, value]) => name !== 'path' && name !== 'line' && value !== undefined,
  );
  const [only, ...others] = entries;
  return only?.[0] === 'value' && others.length === 0
    ? valuesOf(only[1])
    : Object.fromEntries(entries.map(([name, value]) => [name, valuesOf(value)]));
}

/** The first pool of a text. */
export function firstOf(text: string): unknown {
  return valuesOf(masterOf(readOwn(text).draft));
}
