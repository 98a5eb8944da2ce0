import type { Flag } from '#cli/core/command.ts';

/** A flag of all commands but those for which it has no use: it is not in their help, and rejected. */
type GlobalFlag = Flag & { readonly except: RegExp };

export const GLOBAL_FLAGS: readonly GlobalFlag[] = [
  {
    name: 'format',
    value: 'FORMAT',
    choices: ['text', 'json', 'yaml', 'csv'],
    summary: 'output format: text, json, yaml, csv, csv(FIELD,…), or value(FIELD,…), separated by tabs',
    except: /^(exec|ssh)$/,
  },
  {
    name: 'data-dir',
    value: 'DIR',
    summary: 'data directory of the embedded cloud (default: the nearest .dropforge/)',
    except: /^(jobs validate|init|version|deploy files)$/,
  },
  {
    name: 'deployment',
    value: 'FILE',
    summary: 'use a deployment on Google Cloud (terraform output -json deployment)',
    except: /^(demo|up|init|version|deploy files)$/,
  },
];
