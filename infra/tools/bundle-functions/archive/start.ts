import { compileFunction, readCodeCache, runFunction } from '#infra/tools/bundle-functions/archive/function-script.ts';

/** Entry point for Cloud Functions: runs the function's bundle, from the code cache if there is one. */
runFunction(compileFunction(__dirname, readCodeCache(__dirname)), __dirname, require);
