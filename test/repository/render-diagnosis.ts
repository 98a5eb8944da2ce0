import { RULES } from '#shared/diagnosis/rules/all-rules.ts';
import { LABELS, type Label } from '#shared/diagnosis/rules/labels.ts';
import type { Rule } from '#shared/diagnosis/rules/rule.ts';

/** Regenerates the page. */
export const WRITE_COMMAND = 'node test/repository/write-diagnosis.ts';

/** The page `docs/diagnosis.md`, generated from the labels and the rules. */
export function renderDiagnosis(): string {
  const labels = Object.keys(LABELS) as Label[];
  return `${[
    '# Diagnosis',
    `<!-- Generated from shared/diagnosis by \`${WRITE_COMMAND}\`. Edit the rules, not this page. -->`,
    [
      'When a program fails, rules search its exit code, its signal, its last lines, kernel messages and what the agent noticed',
      'about its health for the root of the failure, and label it. `dropforge jobs describe`, the report and the API show the',
      'label, the lines of evidence with the root line marked, a remedy with the numbers of the job, and whether a retry can',
      'help. Logs of programs that succeeded are not diagnosed.',
    ].join('\n'),
    [
      '**Retries.** `retries` in the job file restarts a program after a failure that a retry can help, or of which nothing is',
      'known. A failure with *a retry cannot help* ends the job at once: the same program with the same arguments would fail',
      'again. A hardware fault of a GPU always starts a new attempt on another VM, at most two in a row.',
    ].join('\n'),
    [
      '**Precedence.** The first rule that matches decides, and a root comes before what follows from it: a fault of the GPU,',
      'memory, preemption, disk, Google Cloud, building and importing, the distribution strategy, checkpoints, shapes, NaN,',
      'NCCL, the network, pip, crashes, missing data; an exception that no rule explains comes last. An exception that the',
      'program handled before another one ended it does not count, and neither does a warning after which training went on.',
    ].join('\n'),
    renderTable(labels),
    ...labels.map(renderLabel),
  ].join('\n\n')}\n`;
}

function renderTable(labels: readonly Label[]): string {
  const rows = labels.map((label) => [
    `[${label}](#${label})`,
    LABELS[label].title,
    retryOf(label),
    `\`${LABELS[label].code}\``,
  ]);
  const header = ['label', 'meaning', 'can a retry help', 'cause'];
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function renderLabel(label: Label): string {
  const { title, explanation, remedy } = LABELS[label];
  const rules = RULES.filter((rule) => rule.label === label);
  const examples = rules.map(({ example }) => example.trim());
  const special = [...new Set(rules.flatMap((rule) => renderSpecial(rule)))];
  return [
    `## ${label}`,
    `**${title}.** ${explanation}`,
    ...(examples.length === 0 ? [] : ['What it looks like:', ['```text', ...examples, '```'].join('\n')]),
    `What to do: ${remedy}`,
    ...special,
    `Can a retry help: ${retryOf(label)}.`,
  ].join('\n\n');
}

function renderSpecial({ remedy, example }: Rule): readonly string[] {
  return remedy === undefined ? [] : [`For \`${example.trim().replaceAll('`', '')}\`: ${remedy}`];
}

function retryOf(label: Label): string {
  if (label === 'user_exception') {
    return 'only if the class of the exception is not one that the same program raises again';
  }
  return LABELS[label].canRetryHelp ? 'yes' : 'no';
}
