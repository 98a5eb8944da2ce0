/** Outlines on a grid of 16 × 16. */
const PATHS = {
  upload: 'M8 11V3M4.5 6.5 8 3l3.5 3.5M2.5 11v2.5h11V11',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
  moon: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z',
  close: 'm4 4 8 8M12 4l-8 8',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8Z',
  check: 'm3 8.5 3.5 3.5L13 4.5',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM10.5 10.5l3 3',
  warning: 'M8 2 14.5 13.5h-13ZM8 6.5v3.5M8 11.8v.2',
  error: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8ZM8 4.8v4M8 11v.2',
  folder: 'M1.5 3.5h5l1.5 2h6.5v8h-13Z',
  file: 'M3.5 1.5h6l3 3v10h-9ZM9.5 1.5v3h3',
  download: 'M8 3v8M4.5 7.5 8 11l3.5-3.5M2.5 13.5h11',
  next: 'm6 3.5 4.5 4.5L6 12.5',
  stop: 'M4 4h8v8H4Z',
  trials: 'M2 13.5h12M4 11V8M8 11V3M12 11V6',
} as const;

export type IconName = keyof typeof PATHS;

/** A decorative icon: the text beside it, or the label of its button, has the meaning. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linejoin="round"
        stroke-linecap="round"
      />
    </svg>
  );
}
