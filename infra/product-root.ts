import { dirname } from 'node:path';

/**
 * The folder with the files that are read at run time: the repository, or the installed npm package, which has them at
 * the same paths. The code of the package is in one folder below it, as this file is.
 */
export const PRODUCT_ROOT = dirname(import.meta.dirname);
