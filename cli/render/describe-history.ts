import { describeBlock } from '#cli/render/format.ts';
import { formatTable } from '#cli/render/format-table.ts';
import { elapsedMs } from '#shared/domain/history.ts';
import type { HistoryEntry } from '#shared/domain/history-entry.ts';
import { formatDuration, formatUtc } from '#shared/text/format-time.ts';

/** Formats the history of a job or tuning with the time between two events; no lines if it is empty. */
export function describeHistory(history: readonly HistoryEntry[]): readonly string[] {
  const rows = history.map((entry, index) => {
    const afterMs = elapsedMs(history[index - 1]?.at, entry.at);
    const after = afterMs === null ? '' : `+${formatDuration(afterMs)}`;
    return [formatUtc(entry.at), after, ...formatChange(entry)];
  });
  const table = formatTable(['TIME', 'AFTER', ...CHANGE_COLUMNS], rows);
  return rows.length === 0 ? [] : describeBlock('History', table);
}

export const CHANGE_COLUMNS = ['STATE', 'EVENT', 'ATTEMPT', 'DETAILS'] as const;

type Change = Pick<HistoryEntry, 'from' | 'to' | 'event' | 'by' | 'replica'> & {
  readonly cause: string | null;
  readonly attempt?: number | undefined;
  readonly zone?: string | null | undefined;
};

/** The values of CHANGE_COLUMNS. */
export function formatChange({ from, to, event, attempt = 0, ...change }: Change): readonly string[] {
  const { cause, zone, replica, by } = change;
  return [
    from === null || from === to ? to : `${from} → ${to}`,
    event,
    attempt === 0 ? '-' : String(attempt),
    [cause, zone, replica, by && `by ${by}`].filter(Boolean).join(', '),
  ];
}
