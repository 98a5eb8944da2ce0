import type { Flag } from '#cli/core/command.ts';

/** The flags of all commands. */
export const GLOBAL_FLAGS: readonly Flag[] = [
  {
    name: 'format',
    value: 'FORMAT',
    choices: ['text', 'json', 'yaml', 'csv'],
    summary: 'output format: text, json, yaml, csv, csv(FIELD,…), or value(FIELD,…), separated by tabs',
  },
  {
    name: 'data-dir',
    value: 'DIR',
    summary: 'data directory of the embedded cloud (default: the nearest .dropforge/)',
  },
  {
    name: 'deployment',
    value: 'FILE',
    summary: 'use a deployment on Google Cloud (terraform output -json deployment)',
  },
];
