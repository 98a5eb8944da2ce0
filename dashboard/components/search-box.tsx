import type { RefObject } from 'preact';
import { Icon } from '#dashboard/components/icon.tsx';

type Props = {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly placeholder?: string;
  readonly field?: RefObject<HTMLInputElement | null>;
  /** Whether the key `/` focuses it, which it then shows. */
  readonly hasShortcut?: boolean;
  readonly maxLength?: number;
  readonly 'aria-invalid'?: boolean;
  readonly 'aria-describedby'?: string;
};

/** A field for a search, with what it searches in it. */
export function SearchBox({ label, field, hasShortcut = false, onInput, placeholder = label, ...others }: Props) {
  return (
    <span class={hasShortcut ? 'search-box search-shortcut' : 'search-box'}>
      <Icon name="search" />
      <input
        {...others}
        ref={field ?? null}
        class="input"
        type="search"
        placeholder={placeholder}
        aria-label={label}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </span>
  );
}
