import { createApiClient } from '#cli/client/api-client.ts';
import { findTarget } from '#cli/client/find-target.ts';
import type { Command, CommandEntry, Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { GLOBAL_FLAGS } from '#cli/core/global-flags.ts';

const JOBS_COUNT_MAX = 100;
const ANSWER_MS_MAX = 1_000;

/** The script of each shell, which passes the words of the command line behind `--`; and a candidate as it reads one. */
const SHELLS: Readonly<Record<string, { readonly script: string; readonly format: (found: Candidate) => string }>> = {
  bash: {
    script: `_dropforge() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _dropforge dropforge`,
    format: ({ word }) => word,
  },
  zsh: {
    script: `#compdef dropforge
_dropforge() {
  local -a found
  found=("\${(@f)$("$words[1]" completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then _describe dropforge found; else _files; fi
}
compdef _dropforge dropforge`,
    format: ({ word, summary }) => `${word.replaceAll(':', '\\:')}:${summary}`,
  },
  fish: {
    script: `function __dropforge
  set -l words (commandline -opc)
  set -l found ($words[1] completion fish -- $words[2..-1] (commandline -ct | string collect --allow-empty) 2>/dev/null)
  if set -q found[1]; printf '%s\\n' $found; else; __fish_complete_path (commandline -ct); end
end
complete -c dropforge -f -a '(__dropforge)'`,
    format: ({ word, summary }) => `${word}\t${summary}`,
  },
};

type Candidate = { readonly word: string; readonly summary: string };

export function createCompletion(commands: readonly CommandEntry[]): Command {
  const shells = Object.keys(SHELLS);
  return {
    operands: [{ name: 'SHELL', summary: shells.join(', '), count: 'one', choices: shells }],
    flags: [],
    rest: 'the words of a command line, as the script passes them: prints what can be the last one',
    notes:
      'Completes commands, flags and the jobs of the cloud. Write into ~/.bashrc: eval "$(dropforge completion bash)"; into\n' +
      '~/.zshrc, below compinit: eval "$(dropforge completion zsh)"; and for fish, run dropforge completion fish >\n' +
      '~/.config/fish/completions/dropforge.fish',
    async run(invocation) {
      const [name = ''] = invocation.operands;
      const shell = Object.hasOwn(SHELLS, name) ? SHELLS[name] : undefined;
      if (shell === undefined) {
        throw new UsageFailure(`There is no completion for ${name}: use ${shells.join(', ')}.`);
      }
      const words = invocation.rest;
      const found = words.length === 0 ? [] : await listCandidates(invocation, commands);
      const matching = found.filter(({ word }) => word.startsWith(words.at(-1) ?? ''));
      const text = words.length === 0 ? shell.script : matching.map((one) => `${shell.format(one)}\n`).join('');
      invocation.print({ json: words.length === 0 ? { script: text } : matching, text });
      return 0;
    },
  };
}

/** Lists the words that can be the last one; none for the name of a file, or an unknown value. */
async function listCandidates(
  invocation: Invocation,
  commands: readonly CommandEntry[],
): Promise<readonly Candidate[]> {
  const before = invocation.rest.slice(0, -1);
  const below = (path: string) => commands.filter(({ name }) => path === '' || `${name} `.startsWith(`${path} `));
  const path = before.reduce((known, word) => {
    const longer = `${known} ${word}`.trim();
    return below(longer).length > 0 ? longer : known;
  }, '');
  const entry = commands.find(({ name }) => name === path);
  if (entry === undefined) {
    const next = below(path).map(({ name, summary }) => {
      const [word = '', ...others] = name.slice(path.length).trim().split(' ');
      return [word, { word, summary: others.length === 0 ? summary : `${word} …` }] as const;
    });
    return [...new Map(next).values()];
  }
  const { flags: own, operands } = await entry.load();
  const flags = [...own, ...GLOBAL_FLAGS];
  const last = flags.find(({ name, letter }) => [`--${name}`, `-${letter}`].includes(before.at(-1) ?? ''));
  const toCandidate = (word: string) => ({ word, summary: '' });
  if (before.includes('--') || (last?.value !== undefined && !last.isValueOptional)) {
    return (last?.choices ?? []).map(toCandidate);
  }
  if (invocation.rest.at(-1)?.startsWith('-')) {
    return flags.map(({ name, summary }) => ({ word: `--${name}`, summary }));
  }
  const [operand] = operands;
  return operand?.name === 'JOB' ? await listJobs(invocation) : (operand?.choices ?? []).map(toCandidate);
}

async function listJobs(invocation: Invocation): Promise<readonly Candidate[]> {
  try {
    const { api } = await findTarget(invocation);
    const jobs = await createApiClient(api, AbortSignal.timeout(ANSWER_MS_MAX)).listJobs(JOBS_COUNT_MAX);
    return jobs.map(({ jobId, state }) => ({ word: jobId, summary: state }));
  } catch {
    return [];
  }
}
