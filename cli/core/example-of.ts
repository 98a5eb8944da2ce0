import type { Command, CommandEntry } from '#cli/core/command.ts';

/** Values of operands in examples. */
const VALUES: Readonly<Record<string, string>> = {
  JOB: 'digits',
  VM: 'digits-1-master-0',
  ZONE: 'us-central1-a',
  CHANNEL: 'team-chat',
  NAME: 'hf-token',
  SHELL: 'bash',
  URI: 'gs://dropforge-local-jobs/digits/metrics.json',
};

/** The example of a command's help: what the command states, or else its name with each operand that it requires. */
export function exampleOf({ name }: CommandEntry, { example, operands }: Command): string {
  const required = operands.filter(({ count }) => count === 'one' || count === 'many');
  return ['dropforge', name, example ?? required.map((operand) => VALUES[operand.name] ?? operand.name).join(' ')]
    .filter(Boolean)
    .join(' ');
}
