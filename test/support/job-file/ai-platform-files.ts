import { readdirSync, readFileSync } from 'node:fs';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { isJobField, readAiPlatformJob } from '#shared/job-file/formats/ai-platform/read.ts';
import { createFindings, inFileOrder } from '#shared/job-file/parser/findings.ts';
import { toCamelCase } from '#shared/job-file/parser/open-mapping.ts';
import { parseSource } from '#shared/job-file/parser/parse-source.ts';
import type { Problem } from '#shared/protocol/problem.ts';

const FOLDER = new URL('../../fixtures/job-files/', import.meta.url);

/** The path of parameters in an AI Platform job. */
export const PARAMS = 'trainingInput.hyperparameters.params';

export function fixture(file: string): Uint8Array {
  return readFileSync(new URL(file, FOLDER));
}

/** The fixtures with an AI Platform job, found by the fields at the top. */
export const AI_PLATFORM_FILES: readonly string[] = readdirSync(FOLDER).filter((file) => {
  const { root } = parseSource(fixture(file), file);
  return root?.kind === 'MAPPING' && root.entries.some(({ key }) => isJobField(toCamelCase(key)));
});

/** The draft of a YAML text and its findings: code, field and line of each. */
export function readJob(source: string | Uint8Array) {
  const { root, problems } = parseSource(source, 'job.yaml');
  if (root === null) {
    throw new Error(`No YAML: ${problems[0]?.message}`);
  }
  const findings = createFindings();
  const draft = readAiPlatformJob({ path: '', node: root }, findings);
  return {
    draft,
    problems: inFileOrder(findings.problems).map(summarize),
    warnings: inFileOrder(findings.warnings).map(summarize),
    unsupported: inFileOrder(findings.unsupported).map(summarize),
    all: inFileOrder([...findings.problems, ...findings.warnings, ...findings.unsupported]),
  };
}

function summarize({ code, path, line }: Problem): string {
  return `${code} ${path ?? ''}:${line}`;
}

/** A value as the reader returns it, with its path under trainingInput. */
export function at<T>(value: T, path: string, line: number) {
  return { value, path: `trainingInput.${path}`, line };
}

const LOCATION_KEYS: ReadonlySet<string> = new Set(['path', 'line']);

/** A draft's values without their locations; -0 is 0. */
export function withoutLocations(draft: JobDraft): unknown {
  return JSON.parse(JSON.stringify(draft, (key, value: unknown) => (LOCATION_KEYS.has(key) ? undefined : value)));
}
