import { useState } from 'preact/hooks';
import { Icon } from '#dashboard/components/icon.tsx';

type Theme = 'light' | 'dark';

/** The key of the choice in the browser's storage; read before the first rendering by `theme.ts`. */
const THEME_KEY = 'dropforge-theme';

function currentTheme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === 'light' || chosen === 'dark') {
    return chosen;
  }
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

/** Light or dark; the system's until the reader chooses. */
export function ThemeToggle() {
  const [theme, setTheme] = useState(currentTheme);
  const other = theme === 'dark' ? 'light' : 'dark';
  const toggle = () => {
    document.documentElement.dataset.theme = other;
    localStorage.setItem(THEME_KEY, other);
    setTheme(other);
  };
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={`Use the ${other} theme`}
      title={`Use the ${other} theme`}
      onClick={toggle}
    >
      <Icon name={theme === 'dark' ? 'sun' : 'moon'} />
    </button>
  );
}
