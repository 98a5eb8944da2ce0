import { defineFlag, type Flag } from '#cli/core/command.ts';

/** A flag of all commands but those for which it has no use: it is not in their help, and rejected. */
type GlobalFlag = Flag & { readonly except: RegExp };

export const GLOBAL_FLAGS: readonly GlobalFlag[] = [
  {
    except: /^(exec|ssh)$/,
    ...defineFlag(
      'format FORMAT',
      'output format: text, json, yaml, csv, csv(FIELD,…), or value(FIELD,…), separated by tabs',
      { choices: ['text', 'json', 'yaml', 'csv'] },
    ),
  },
  {
    except: /^(jobs validate|init|version|deploy files)$/,
    ...defineFlag('data-dir DIR', 'data directory of the embedded cloud (default: the nearest .dropforge/)'),
  },
  {
    except: /^(demo|up|init|version|deploy files)$/,
    ...defineFlag('deployment FILE', 'use a deployment on Google Cloud (terraform output -json deployment)'),
  },
];
