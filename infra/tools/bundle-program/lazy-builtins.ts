import { builtinModules, createRequire } from 'node:module';
import type { Plugin } from 'esbuild';

/** Modules that are a class or an object with state, which an object with the same names cannot replace. */
const OBJECTS = /^(node:)?(assert|events|module|process|stream)$/;

/**
 * Loads a module of Node.js when one of its exports is first used. `import` would load it at the start and read every
 * export, and those of `http` and `crypto` load half of Node.js: fetch, TLS, worker threads.
 */
export const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: new RegExp(`^(node:.*|${builtinModules.join('|')})$`) }, ({ path, kind }) => {
      const isLazy = kind === 'import-statement' && !OBJECTS.test(path);
      return { path, namespace: isLazy ? 'lazy-builtin' : 'builtin' };
    });
    onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
    onLoad({ filter: /./, namespace: 'lazy-builtin' }, ({ path }) => {
      const names = Object.keys(createRequire(import.meta.url)(path)).filter((name) => /^\w+$/.test(name));
      return {
        contents: `let found;
          const load = () => (found ??= process.getBuiltinModule(${JSON.stringify(path)}));
          module.exports = {${names.map((name) => `get ${name}() { return load().${name}; }`).join(',')}};`,
      };
    });
  },
};
