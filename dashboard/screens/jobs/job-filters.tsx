import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '#dashboard/components/icon.tsx';
import { SearchBox } from '#dashboard/components/search-box.tsx';
import { setQuery } from '#dashboard/navigation/location.ts';

/** Groups of states, by the value of `state` in the address. */
const STATE_GROUPS = {
  '': { label: 'All', states: [] },
  active: { label: 'Active', states: ['QUEUED', 'PREPARING', 'RUNNING', 'CANCELLING'] },
  running: { label: 'Running', states: ['RUNNING'] },
  succeeded: { label: 'Succeeded', states: ['SUCCEEDED'] },
  failed: { label: 'Failed', states: ['FAILED'] },
  cancelled: { label: 'Cancelled', states: ['CANCELLED'] },
} as const satisfies Readonly<Record<string, { readonly label: string; readonly states: readonly string[] }>>;

type StateGroup = keyof typeof STATE_GROUPS;

/** The jobs that the address selects. */
export type JobFilter = { readonly group: StateGroup; readonly text: string; readonly label: string };

export function readJobFilter(query: URLSearchParams): JobFilter {
  const state = query.get('state') ?? '';
  const group = Object.keys(STATE_GROUPS).find((name) => name === state) as StateGroup | undefined;
  return { group: group ?? '', text: query.get('text') ?? '', label: query.get('label') ?? '' };
}

/** The filter as parameters of `GET /v1/jobs`, each with its `&`. */
export function toApiFilter({ group, text, label }: JobFilter): string {
  const states = STATE_GROUPS[group].states.join(',');
  const parameters = { state: states, text: text.trim(), label };
  return Object.entries(parameters)
    .map(([name, value]) => (value === '' ? '' : `&${name}=${encodeURIComponent(value)}`))
    .join('');
}

/** The text is part of the address this long after the last key. */
const TYPING_PAUSE_MS = 250;

export function JobFilters({ filter }: { readonly filter: JobFilter }) {
  return (
    <search class="filters">
      <TextFilter text={filter.text} />
      <fieldset class="segments">
        <legend class="visually-hidden">State</legend>
        {(Object.keys(STATE_GROUPS) as StateGroup[]).map((name) => (
          <label key={name} class="segment">
            <input
              type="radio"
              name="state"
              class="visually-hidden"
              checked={filter.group === name}
              onChange={() => setQuery({ state: name })}
            />
            <span>{STATE_GROUPS[name].label}</span>
          </label>
        ))}
      </fieldset>
      {filter.label !== '' && (
        <button type="button" class="tag tag-removable user-text" onClick={() => setQuery({ label: '' })}>
          <span class="visually-hidden">Remove the filter </span>
          {filter.label.replace(':', ': ')}
          <Icon name="close" />
        </button>
      )}
    </search>
  );
}

function TextFilter({ text }: { readonly text: string }) {
  const [typed, setTyped] = useState(text);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // Back and forward change the address; typing has changed it itself.
    if (document.activeElement !== input.current) {
      setTyped(text);
    }
  }, [text]);
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && event.target.closest('input, textarea, select') !== null;
      if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        input.current?.focus();
      }
    };
    window.addEventListener('keydown', focus);
    return () => window.removeEventListener('keydown', focus);
  }, []);
  const type = (value: string) => {
    setTyped(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setQuery({ text: value }), TYPING_PAUSE_MS);
  };
  return (
    <SearchBox
      label="Search by name, label, machine"
      field={input}
      hasShortcut
      maxLength={128}
      value={typed}
      onInput={type}
    />
  );
}
