import { createStore } from '#dashboard/store/store.ts';
import { useStore } from '#dashboard/store/use-store.ts';

/** The address of the page without its origin: `/jobs/digits`, and the part after `?`. */
export type PageLocation = { readonly path: string; readonly query: string };

const current = createStore(readLocation());

function readLocation(): PageLocation {
  const { pathname, search } = window.location;
  return { path: pathname, query: search.replace(/^\?/, '') };
}

/** Follows the browser's back and forward buttons. Call once, at the start. */
export function followHistory(): void {
  window.addEventListener('popstate', () => current.set(readLocation()));
}

/** Shows another screen. `replace` leaves no entry in the browser's history: for filters that change while typing. */
export function navigate(address: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) {
    window.history.replaceState(null, '', address);
  } else {
    window.history.pushState(null, '', address);
    window.scrollTo(0, 0);
  }
  current.set(readLocation());
}

export function useLocation(): PageLocation {
  return useStore(current);
}

/** The parameters of the address. */
export function useQuery(): URLSearchParams {
  return new URLSearchParams(useLocation().query);
}

/** Sets parameters of the address on the same screen; an empty value removes its parameter. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const { path, query } = current.get();
  const parameters = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') {
      parameters.delete(name);
    } else {
      parameters.set(name, value);
    }
  }
  const text = parameters.toString();
  navigate(text === '' ? path : `${path}?${text}`, { replace: true });
}
