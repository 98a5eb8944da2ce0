import { readFileSync } from 'node:fs';
import { anchorOf } from '../heading-anchor.ts';

const FILE = new URL('../../../docs/runbook.md', import.meta.url);

export type RunbookSection = { readonly title: string; readonly anchor: string; readonly text: string };

/** The sections of alerts, in docs/runbook.md. */
export function readAlertSections(): readonly RunbookSection[] {
  const [, alerts = ''] = /^## Alerts$(.*?)^## /ms.exec(readFileSync(FILE, 'utf8')) ?? [];
  return alerts
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const [title = '', ...lines] = section.split('\n');
      return { title, anchor: anchorOf(title), text: lines.join('\n') };
    });
}

/** Queries of the logging query language, of all commands in the text. */
export function listQueries(text = readFileSync(FILE, 'utf8')): readonly string[] {
  return [...text.matchAll(/gcloud logging read '([^']+)'/g)].map(([, query]) => query ?? '');
}
