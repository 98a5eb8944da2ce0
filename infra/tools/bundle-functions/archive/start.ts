import { compileFunction, readCodeCache, runFunction } from '#infra/tools/bundle-functions/archive/function-script.ts';

/** What Cloud Functions starts: the function's bundle, without having to compile it where that was done beforehand. */
runFunction(compileFunction(__dirname, readCodeCache(__dirname)), __dirname, require);
