import { Icon } from '#dashboard/components/icon.tsx';
import { showToast } from '#dashboard/components/toasts.tsx';
import type { LogFilter } from '#dashboard/log/log-lines.ts';

type Props = {
  readonly filter: LogFilter;
  readonly replicas: readonly string[];
  readonly searchError: string | null;
  readonly isFollowing: boolean;
  readonly onFilter: (filter: LogFilter) => void;
  readonly onFollow: (isFollowing: boolean) => void;
  /** The text of the shown lines. */
  readonly copied: () => string;
};

export function LogToolbar({ filter, replicas, searchError, isFollowing, onFilter, onFollow, copied }: Props) {
  const set = (changes: Partial<LogFilter>) => onFilter({ ...filter, ...changes });
  const copy = () =>
    navigator.clipboard.writeText(copied()).then(
      () => showToast('The shown lines were copied.'),
      () => showToast('The browser denied access to the clipboard: select and copy the text yourself.', 'error'),
    );
  return (
    <fieldset class="toolbar" aria-label="Filters of the log">
      <span class="search-box">
        <Icon name="search" />
        <input
          class="input"
          type="search"
          placeholder={filter.isRegExp ? 'Regular expression' : 'Search the log'}
          aria-label="Search the log"
          aria-invalid={searchError !== null}
          aria-describedby="log-search-error"
          value={filter.search}
          onInput={(event) => set({ search: event.currentTarget.value })}
        />
      </span>
      <button
        type="button"
        class="chip mono"
        aria-pressed={filter.isRegExp}
        aria-label="Regular expression"
        title="Regular expression"
        onClick={() => set({ isRegExp: !filter.isRegExp })}
      >
        .*
      </button>
      <span id="log-search-error" class="chart-note" role="status">
        {searchError ?? ''}
      </span>
      <select
        class="select"
        aria-label="Severity"
        value={filter.severity}
        onChange={(event) => set({ severity: event.currentTarget.value as LogFilter['severity'] })}
      >
        <option value="INFO">All severities</option>
        <option value="WARNING">Warnings and errors</option>
        <option value="ERROR">Errors</option>
      </select>
      {replicas.length > 1 && (
        <select
          class="select"
          aria-label="Replica"
          value={filter.replica ?? ''}
          onChange={(event) => set({ replica: event.currentTarget.value === '' ? null : event.currentTarget.value })}
        >
          <option value="">All replicas</option>
          {replicas.map((replica) => (
            <option key={replica} value={replica}>
              {replica}
            </option>
          ))}
        </select>
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={filter.showsAgent}
          onChange={(event) => set({ showsAgent: event.currentTarget.checked })}
        />
        Agent
      </label>
      <span class="toolbar-end">
        <label class="check">
          <input type="checkbox" checked={isFollowing} onChange={(event) => onFollow(event.currentTarget.checked)} />
          Follow
        </label>
        <button type="button" class="button" onClick={() => void copy()}>
          <Icon name="copy" />
          Copy
        </button>
      </span>
    </fieldset>
  );
}
