import { readdirSync, readFileSync } from 'node:fs';
import { readVertexJob } from '#shared/job-file/formats/vertex-ai/read.ts';
import { createFindings } from '#shared/job-file/parser/findings.ts';
import { parseSource } from '#shared/job-file/parser/parse-source.ts';

const FOLDER = new URL('../../fixtures/job-files/', import.meta.url);

/** The fixtures with a Vertex AI job, found by their names. */
export const VERTEX_FILES: readonly string[] = readdirSync(FOLDER).filter((name) => name.startsWith('vertex-'));

/** The draft of a YAML or JSON text and its findings. */
export function readVertex(text: string) {
  const { root } = parseSource(text, 'job.yaml');
  const findings = createFindings();
  const node = root ?? { kind: 'SCALAR', line: 1, value: null, text: '' };
  return { draft: readVertexJob({ path: '', node }, findings), ...findings };
}

export function readVertexFile(file: string) {
  return readVertex(readFileSync(new URL(file, FOLDER), 'utf8'));
}
