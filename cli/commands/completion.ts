import type { Command, CommandEntry, Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { GLOBAL_FLAGS } from '#cli/core/global-flags.ts';

const JOBS_COUNT_MAX = 100;
const ANSWER_MS_MAX = 1_000;

/** Each script passes the words of the command line behind `--`, the last one incomplete, and completes files by default. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_dropforge() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _dropforge dropforge`,
  zsh: `#compdef dropforge
_dropforge() {
  local found="$("$words[1]" completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"
  if [[ -n "$found" ]]; then compadd -- \${(f)found}; else _files; fi
}
compdef _dropforge dropforge`,
  fish: `function __dropforge
  set -l words (commandline -opc)
  set -l found ($words[1] completion fish -- $words[2..-1] (commandline -ct | string collect --allow-empty) 2>/dev/null)
  if set -q found[1]; printf '%s\\n' $found; else; __fish_complete_path (commandline -ct); end
end
complete -c dropforge -f -a '(__dropforge)'`,
};
const SHELLS = Object.keys(SCRIPTS);

export function createCompletion(commands: readonly CommandEntry[]): Command {
  return {
    operands: [{ name: 'SHELL', summary: SHELLS.join(', '), count: 'one', choices: SHELLS }],
    flags: [],
    rest: 'the words of a command line, as the script passes them: prints what can be the last one',
    notes:
      'Completes commands, flags and the jobs of the cloud. Write into ~/.bashrc: eval "$(dropforge completion bash)"; into\n' +
      '~/.zshrc, below compinit: eval "$(dropforge completion zsh)"; and for fish, run dropforge completion fish >\n' +
      '~/.config/fish/completions/dropforge.fish',
    async run(invocation) {
      const [shell = ''] = invocation.operands;
      const words = invocation.rest;
      if (!SHELLS.includes(shell)) {
        throw new UsageFailure(`There is no completion for ${shell}: use ${SHELLS.join(', ')}.`);
      }
      const last = words.at(-1);
      const found = last === undefined ? [SCRIPTS[shell] ?? ''] : await listWords(invocation, commands);
      const matching = found.filter((word) => word.startsWith(last ?? ''));
      invocation.print({ json: matching, text: matching.join('\n') });
      return 0;
    },
  };
}

/** Lists the words that can be the last one; none for the name of a file, or an unknown value. */
async function listWords(invocation: Invocation, commands: readonly CommandEntry[]): Promise<readonly string[]> {
  const before = invocation.rest.slice(0, -1);
  const below = (path: string) => commands.filter(({ name }) => path === '' || `${name} `.startsWith(`${path} `));
  const path = before.reduce((known, word) => {
    const longer = `${known} ${word}`.trim();
    return below(longer).length > 0 ? longer : known;
  }, '');
  const command = await commands.find(({ name }) => name === path)?.load();
  const flags = [...(command?.flags ?? []), ...GLOBAL_FLAGS.filter(({ except }) => !except.test(path))];
  const last = flags.find(({ name, letter }) => [`--${name}`, `-${letter}`].includes(before.at(-1) ?? ''));
  if (before.includes('--') || (last?.value !== undefined && !last.isValueOptional)) {
    return last?.choices ?? [];
  }
  if (command === undefined) {
    return [...new Set(below(path).map(({ name }) => name.slice(path.length).trim().split(' ')[0] ?? ''))];
  }
  if (invocation.rest.at(-1)?.startsWith('-')) {
    return flags.map(({ name }) => `--${name}`);
  }
  const [operand] = command.operands;
  return operand?.name === 'JOB' ? await listJobs(invocation) : (operand?.choices ?? []);
}

async function listJobs(invocation: Invocation): Promise<readonly string[]> {
  try {
    // Loaded on demand: other words are completed without a cloud.
    const { createApiClient } = await import('#cli/client/api-client.ts');
    const { findTarget } = await import('#cli/client/find-target.ts');
    const { api } = await findTarget(invocation);
    const jobs = await createApiClient(api, AbortSignal.timeout(ANSWER_MS_MAX)).listJobs(JOBS_COUNT_MAX);
    // bash inserts words as they are, and would execute a name of another cloud that is more than a word.
    return jobs.map(({ jobId }) => jobId).filter((jobId) => /^\w[\w.-]*$/.test(jobId));
  } catch {
    return [];
  }
}
