import { readdirSync, readFileSync } from 'node:fs';
import { CAUSES, type CauseClass } from '#shared/domain/cause.ts';
import { RULES } from '#shared/domain/rules/transition.ts';

/** Regenerates the page. */
export const WRITE_COMMAND = 'node test/repository/write-job-lifecycle.ts';

const RULES_FOLDER = new URL('../../shared/domain/rules/', import.meta.url);

const POLICIES: Readonly<Record<CauseClass, string>> = {
  capacity: 'of a create failure, the next zone, and a backoff after the last one; otherwise the job fails',
  rate: 'the same zones again, after a backoff',
  quota: 'the next zone; the job fails if the limit is too low for it alone',
  interruption: 'a new attempt, after a backoff if the last one was short',
  user: 'the job fails; a new attempt while restarts are left and a retry can help',
  configuration: 'the job fails; `PERIMETER_DENIED` before the program ran is retried for half an hour',
  internal: 'the job fails',
  cancel: 'the job is cancelled',
};

/** The page `docs/job-lifecycle.md`: the table of the rules, with the first sentence of each rule's comment. */
export async function renderJobLifecycle(): Promise<string> {
  return `# Job lifecycle

<!-- Generated from the rules in shared/domain/rules by \`${WRITE_COMMAND}\`. Edit the rules, not this page. -->

A job changes only by events. An event without a rule for the job's status is ignored: a duplicate, late or fenced-off
message changes nothing. The wait that each \`DEADLINE_PASSED\` ends is in \`shared/domain/timeouts.ts\`.

\`\`\`mermaid
stateDiagram-v2
  direction LR
  [*] --> QUEUED
  QUEUED --> PREPARING: a zone is chosen
  PREPARING --> RUNNING: the program runs
  PREPARING --> QUEUED: next zone, new attempt
  RUNNING --> QUEUED: new attempt
  QUEUED --> CLOSING: verdict
  PREPARING --> CLOSING: verdict
  RUNNING --> CLOSING: verdict
  CLOSING --> CLOSED: no VM is left
  CLOSED --> [*]
\`\`\`

${await renderRules()}

## Causes

Every attempt or job that does not succeed ends with one cause. Its class selects what follows, and \`dropforge jobs
describe\` shows the cause with its evidence and this remedy.

${renderCauses()}
`;
}

/** One row for each rule, with all statuses in which it applies. */
async function renderRules(): Promise<string> {
  const pairs = Object.entries(RULES).flatMap(([status, byType]) =>
    Object.entries(byType).map(([type, rule]) => ({ status, type, rule: rule as unknown })),
  );
  const sentences = await readSentences();
  const rows = [...Map.groupBy(pairs, ({ rule }) => rule)].map(([rule, uses]) => {
    const sentence = sentences.get(rule);
    if (sentence === undefined) {
      throw new Error(`The rule for ${uses[0]?.status} × ${uses[0]?.type} has no doc comment.`);
    }
    const names = (key: 'status' | 'type') => [...new Set(uses.map((use) => use[key]))];
    return [names('status').join(', '), names('type').map(code).join(', '), sentence];
  });
  return renderTable(['job', 'event', 'rule'], rows);
}

/** By exported function, the first sentence of its doc comment. */
async function readSentences(): Promise<ReadonlyMap<unknown, string>> {
  const files = readdirSync(RULES_FOLDER).map((name) => new URL(name, RULES_FOLDER));
  const found = files.map(async (file) => {
    const functions: Record<string, unknown> = await import(file.href);
    const documented = readFileSync(file, 'utf8').matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport function (\w+)/g);
    return [...documented].map(([, comment = '', name = '']) => [functions[name], firstSentenceOf(comment)] as const);
  });
  return new Map((await Promise.all(found)).flat());
}

function firstSentenceOf(comment: string): string {
  const text = comment.replaceAll(/\s*\n \*\s*/g, ' ').trim();
  return /^.*?\.(?= |$)/.exec(text)?.[0] ?? text;
}

function renderCauses(): string {
  const byClass = Map.groupBy(Object.entries(CAUSES), ([, cause]) => cause.class);
  const rows = [...byClass].map(([name, causes]) => [
    name,
    POLICIES[name],
    causes.map(([causeCode, { remedy }]) => `${code(causeCode)}: ${remedy}`).join('<br/>'),
  ]);
  return renderTable(['class', 'what follows', 'causes and remedies'], rows);
}

function code(name: string): string {
  return `\`${name}\``;
}

function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
