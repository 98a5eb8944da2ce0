import { parseAnsi } from '#dashboard/log/ansi-text.ts';
import { LINE_CHARACTERS_MAX, type LogLine, type LogRow, splitMatches } from '#dashboard/log/log-lines.ts';

type Props = {
  readonly row: LogRow;
  readonly pattern: RegExp | null;
  readonly showsReplica: boolean;
  readonly onOpen: (line: LogLine) => void;
  readonly onUnfold: () => void;
};

/** One row, of a fixed height. A line is text in every case: nothing in it becomes markup. */
export function LogRowView({ row, pattern, showsReplica, onOpen, onUnfold }: Props) {
  if (row.kind === 'ATTEMPT') {
    return (
      <div class="log-row log-attempt">
        <span>Attempt {row.attempt}</span>
      </div>
    );
  }
  if (row.kind === 'FOLDED') {
    return (
      <div class="log-row log-folded">
        <LogTime at={row.line.at} />
        <button type="button" class="text-button" onClick={onUnfold}>
          {row.count === 1 ? '1 line of the agent' : `${row.count.toLocaleString('en-US')} lines of the agent`}
        </button>
      </div>
    );
  }
  const { line } = row;
  const isCut = line.text.length > LINE_CHARACTERS_MAX;
  return (
    <div class={`log-row log-${line.severity.toLowerCase()} log-stream-${line.stream}`}>
      <LogTime at={line.at} />
      {showsReplica && <span class="log-replica">{line.replica}</span>}
      <span class="log-text">
        {parseAnsi(line.text.slice(0, LINE_CHARACTERS_MAX)).map(({ text, style }, index) => (
          <span key={index} class={style}>
            {splitMatches(text, pattern).map((part, place) =>
              place % 2 === 1 ? <mark key={place}>{part}</mark> : part,
            )}
          </span>
        ))}
      </span>
      {isCut && (
        <button type="button" class="text-button" onClick={() => onOpen(line)}>
          … show all {line.text.length.toLocaleString('en-US')} characters
        </button>
      )}
    </div>
  );
}

/** Made once: to make a formatter takes longer than to render a row. */
const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

function LogTime({ at }: { readonly at: number }) {
  const exact = new Date(at).toISOString();
  return (
    <time class="log-time" dateTime={exact} title={exact}>
      {TIME.format(at)}
    </time>
  );
}
