/** Date and time in the reader's language and time zone, with seconds: for titles of shorter forms. */
export function formatDateTime(time: string | number): string {
  return new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}
