import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { CopyButton } from '#dashboard/components/copy-button.tsx';
import { Dialog } from '#dashboard/components/dialog.tsx';
import { EmptyState } from '#dashboard/components/empty-state.tsx';
import { ErrorPanel } from '#dashboard/components/error-panel.tsx';
import { ScrollRegion } from '#dashboard/components/scroll-region.tsx';
import { plainText } from '#dashboard/log/ansi-text.ts';
import {
  LOG_LINES_MAX,
  type LogFilter,
  type LogLine,
  type LogRow,
  rowsOf,
  searchPattern,
} from '#dashboard/log/log-lines.ts';
import { LogRowView } from '#dashboard/log/log-row.tsx';
import { LogToolbar } from '#dashboard/log/log-toolbar.tsx';
import { useRegExpSearch } from '#dashboard/log/reg-exp-search.ts';
import { useLog } from '#dashboard/log/use-log.ts';
import { formatCount } from '#shared/text/format-number.ts';

const ROW_PX = 20;
/** Rows above and below the visible ones, so that scrolling shows no empty space. */
const MARGIN_ROWS = 10;
const COPIED_LINES_MAX = 10_000;

const NO_FILTER: LogFilter = { search: '', isRegExp: false, severity: 'INFO', showsAgent: false };

type Props = {
  readonly jobId: string;
  readonly replicas: readonly string[];
  /** The replica whose log is shown; null for all. */
  readonly replica: string | null;
  readonly onReplica: (replica: string) => void;
  readonly isRunning: boolean;
  /** Shows the folder of the complete log files. */
  readonly onOpenFiles: () => void;
};

/** The log of a job, or of one replica: all of its lines, of which only the visible ones are in the document. */
export function LogView({ jobId, replicas, replica, onReplica, isRunning, onOpenFiles }: Props) {
  const { lines, error, isLoading } = useLog({ jobId, replica }, isRunning);
  const [filter, setFilter] = useState(NO_FILTER);
  const [isFollowing, setFollowing] = useState(true);
  const [opened, setOpened] = useState<LogLine | null>(null);
  const regExp = useRegExpSearch(lines, filter);
  const rows = useMemo(() => rowsOf(lines, filter, regExp?.matches), [lines, filter, regExp?.version]);
  const copied = () =>
    rows
      .slice(-COPIED_LINES_MAX)
      .flatMap((row) => (row.kind === 'LINE' ? [plainText(row.line.text)] : []))
      .join('\n');
  return (
    <section class="log" aria-label="Log">
      <LogToolbar
        {...{ filter, replicas, replica, onReplica }}
        searchError={regExp?.error ?? null}
        isFollowing={isFollowing}
        onFilter={setFilter}
        onFollow={setFollowing}
        copied={copied}
      />
      {error !== null && <ErrorPanel error={error} />}
      {rows.length === 0 ? (
        // Nothing is known of a log that could not be read.
        (error === null || lines.length > 0) && (
          <LogEmpty isLoading={isLoading} isRunning={isRunning} hasLines={lines.length > 0} />
        )
      ) : (
        <LogRows
          {...{ rows, filter, isFollowing }}
          showsReplica={replicas.length > 1 && replica === null}
          onFollow={setFollowing}
          onOpen={setOpened}
          onUnfold={() => setFilter({ ...filter, showsAgent: true })}
        />
      )}
      <p class="log-status muted" aria-live="off">
        {filter.search === ''
          ? formatCount(lines.length, 'line')
          : `${rows.filter(({ kind }) => kind === 'LINE').length.toLocaleString('en-US')} of ${formatCount(lines.length, 'line')}`}
        {isLoading && ' · reading…'}
        {lines.length === LOG_LINES_MAX && ' · older lines are in the complete log'}
        <button type="button" class="text-button" onClick={onOpenFiles}>
          Complete log files
        </button>
      </p>
      {opened !== null && <LineDialog line={opened} onClose={() => setOpened(null)} />}
    </section>
  );
}

type EmptyProps = { readonly isLoading: boolean; readonly isRunning: boolean; readonly hasLines: boolean };

function LogEmpty({ isLoading, isRunning, hasLines }: EmptyProps) {
  if (isLoading) {
    return <p class="loading">Reading the log…</p>;
  }
  if (hasLines) {
    return <EmptyState title="No line matches">Change the search or the filters.</EmptyState>;
  }
  return (
    <EmptyState title="No log lines yet">
      {isRunning ? 'They appear here as the program writes them.' : 'The program did not run, or wrote nothing.'}
    </EmptyState>
  );
}

type RowsProps = {
  readonly rows: readonly LogRow[];
  readonly filter: LogFilter;
  readonly showsReplica: boolean;
  readonly isFollowing: boolean;
  readonly onFollow: (isFollowing: boolean) => void;
  readonly onOpen: (line: LogLine) => void;
  readonly onUnfold: () => void;
};

function LogRows({ rows, filter, showsReplica, isFollowing, onFollow, onOpen, onUnfold }: RowsProps) {
  const scroller = useRef<HTMLElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const pattern = useMemo(() => (filter.search === '' ? null : searchPattern(filter)), [filter]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && isFollowing) {
      element.scrollTop = element.scrollHeight;
    }
  }, [rows, isFollowing]);
  const onScroll = () => {
    const element = scroller.current;
    if (element !== null) {
      setView({ top: element.scrollTop, height: element.clientHeight });
      const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 2 * ROW_PX;
      if (isAtEnd !== isFollowing) {
        onFollow(isAtEnd);
      }
    }
  };
  useLayoutEffect(onScroll, []);
  const first = Math.max(0, Math.floor(view.top / ROW_PX) - MARGIN_ROWS);
  // A row keeps its place in the document while it is visible, and others reuse the places of those that are not.
  const places = Math.ceil(view.height / ROW_PX) + 2 * MARGIN_ROWS;
  const shown = rows.slice(first, first + places);
  return (
    <ScrollRegion region={scroller} class="log-rows" onScroll={onScroll} label="Lines of the log">
      <div class="log-content" style={{ height: `${rows.length * ROW_PX}px` }}>
        <div class="log-window" style={{ transform: `translateY(${first * ROW_PX}px)` }}>
          {shown.map((row, index) => (
            <LogRowView key={(first + index) % places} {...{ row, pattern, showsReplica, onOpen, onUnfold }} />
          ))}
        </div>
      </div>
    </ScrollRegion>
  );
}

/** Characters of one line that a dialog shows; a copy has all of them. */
const OPENED_CHARACTERS_MAX = 1_000_000;

function LineDialog({ line, onClose }: { readonly line: LogLine; readonly onClose: () => void }) {
  const text = plainText(line.text);
  return (
    <Dialog
      title={`${line.replica}, attempt ${line.attempt}, ${new Date(line.at).toISOString()}`}
      onClose={onClose}
      actions={<CopyButton text={text} label="Copy the line" />}
    >
      <pre class="log-opened user-text">{text.slice(0, OPENED_CHARACTERS_MAX)}</pre>
      {text.length > OPENED_CHARACTERS_MAX && (
        <p class="muted">The line is longer: copy it, or open the complete log.</p>
      )}
    </Dialog>
  );
}
