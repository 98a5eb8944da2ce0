import { stateOfTuning, type Tuning } from '#shared/tuning/tuning.ts';
import type { TuningEffect } from '#shared/tuning/tuning-effect.ts';
import { TUNING_CASES, type TuningCase } from './tuning-lifecycle-cases.ts';

/** Regenerates the page. */
export const WRITE_COMMAND = 'node test/repository/write-tuning-lifecycle.ts';

export function statusOf(tuning: Tuning): string {
  if (tuning.status === 'SEARCHING') {
    return tuning.stopReason === null ? 'SEARCHING' : 'SEARCHING, no further trials';
  }
  return `${tuning.status} as ${tuning.verdict.state}`;
}

/** The page `docs/tuning-lifecycle.md`: what the rules do in every case. */
export function renderTuningLifecycle(): string {
  return `${[
    '# Tuning lifecycle',
    `<!-- Generated from the rules in shared/tuning/rules by \`${WRITE_COMMAND}\`. Edit the rules, not this page. -->`,
    [
      'A tuning changes only by events. `transitionTuning` (`shared/tuning/rules/transition.ts`) maps a tuning and an event to',
      'the next tuning, the trials that were added or have ended, and the effects to publish. All of them are one commit. Pairs',
      'of tuning and event that are not in the table are ignored, and so are values for other ordinals than were asked for, and',
      'ends of trials that do not run. The jobs of trials have [their own lifecycle](job-lifecycle.md).',
    ].join('\n'),
    ['```mermaid', ...renderDiagram(), '```'].join('\n'),
    [
      '`SEARCHING` chooses values and runs trials. Once a condition to stop applies, no further trials start, and those that run',
      'end by themselves or are asked to stop; the tuning then succeeds if one of its trials has. `CLOSING` has its verdict, and',
      'cancels the trials that still run: users see `CANCELLING`, or `RUNNING` if it has failed.',
    ].join('\n'),
    '## Transitions',
    [
      'Effects are messages of the topic `tuning`, and `JOB_UPDATE` of the topic `job-updates`. `SUGGEST` asks for the values of',
      'all free slots; one request is under way at a time. `START_TRIAL` creates the job of a trial unless it exists, and reports',
      'its end if it has closed. `STOP` lets a program end and save its outputs; `CANCEL` does not.',
    ].join('\n'),
    renderTable(),
  ].join('\n\n')}\n`;
}

function renderDiagram(): readonly string[] {
  const edges = Map.groupBy(TUNING_CASES, (each) => {
    const { before, after } = follow(each);
    return `${before.status} --> ${after.status}`;
  });
  const lines = [...edges].map(
    ([edge, cases]) => `${edge}: ${[...new Set(cases.map(({ type }) => type))].join('<br/>')}`,
  );
  return ['stateDiagram-v2', ...['[*] --> SEARCHING', ...lines, 'CLOSED --> [*]'].map((line) => `  ${line}`)];
}

export function follow({ before, event }: TuningCase) {
  const { tuning: after, last } = event(before);
  return { before: before.tuning, after, effects: last.effects };
}

function renderTable(): string {
  const header = ['tuning', 'event', 'condition', 'next tuning', 'shown state', 'effects'];
  const rows = TUNING_CASES.map((each) => {
    const { before, after, effects } = follow(each);
    const [seen, shown] = [stateOfTuning(before), stateOfTuning(after)];
    const sent = [...new Set(effects.map(nameOf))].map((name) => `\`${name}\``).join(' ');
    return [statusOf(before), `\`${each.type}\``, each.when, nextOf(after), seen === shown ? '–' : shown, sent || '–'];
  });
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function nextOf(after: Tuning): string {
  const { stopReason } = after;
  const isInStatus = stopReason === null || stopReason === 'FAILED' || stopReason === 'CANCELLED';
  return isInStatus ? statusOf(after) : `${statusOf(after)}, \`${stopReason}\``;
}

function nameOf(effect: TuningEffect): string {
  return effect.type === 'STOP_TRIAL' ? effect.how : effect.type;
}
