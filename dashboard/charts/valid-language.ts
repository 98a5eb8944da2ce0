/**
 * Chromium on a Linux machine without a language setting calls its language `en-US@posix`, which no Intl function
 * accepts: uPlot throws when it is loaded. Imported before it.
 */
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US' });
}

export const language = navigator.language;
