/** Runs before the first rendering, so that a page with a chosen theme does not flash in the other one. */
const theme = localStorage.getItem('dropforge-theme');
if (theme === 'light' || theme === 'dark') {
  document.documentElement.dataset.theme = theme;
}
