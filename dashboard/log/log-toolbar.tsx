import { copyText } from '#dashboard/components/copy-button.tsx';
import { Icon } from '#dashboard/components/icon.tsx';
import { SearchBox } from '#dashboard/components/search-box.tsx';
import { showToast } from '#dashboard/components/toasts.tsx';
import type { LogFilter } from '#dashboard/log/log-lines.ts';

type Props = {
  readonly filter: LogFilter;
  readonly replicas: readonly string[];
  /** The replica whose log is shown; null for all. */
  readonly replica: string | null;
  readonly searchError: string | null;
  readonly isFollowing: boolean;
  readonly onReplica: (replica: string) => void;
  readonly onFilter: (filter: LogFilter) => void;
  readonly onFollow: (isFollowing: boolean) => void;
  /** The text of the shown lines. */
  readonly copied: () => string;
};

export function LogToolbar(props: Props) {
  const { filter, replicas, replica, searchError, isFollowing, onReplica, onFilter, onFollow, copied } = props;
  const set = (changes: Partial<LogFilter>) => onFilter({ ...filter, ...changes });
  const copy = () => copyText(copied(), () => showToast('The shown lines were copied.'));
  return (
    <fieldset class="toolbar" aria-label="Filters of the log">
      <SearchBox
        label="Search the log"
        value={filter.search}
        onInput={(search) => set({ search })}
        aria-invalid={searchError !== null}
        aria-describedby="log-search-error"
        {...(filter.isRegExp && { placeholder: 'Regular expression' })}
      />
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
          value={replica ?? ''}
          onChange={(event) => onReplica(event.currentTarget.value)}
        >
          <option value="">All replicas</option>
          {replicas.map((name) => (
            <option key={name} value={name}>
              {name}
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
        <button type="button" class="button" onClick={copy}>
          <Icon name="copy" />
          Copy
        </button>
      </span>
    </fieldset>
  );
}
