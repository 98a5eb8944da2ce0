import { transform } from 'esbuild';

const REQUIRE = '(?:__import(?:Star|Default)\\()?require\\(["\'][^"\']+["\']\\)\\)?';

/** An import at the top of a file, as TypeScript compiles it. */
const IMPORT = new RegExp(`^(?:const|var) (\\w+) = (${REQUIRE});$`, 'gm');

/** A re-export of a module as a whole, which would load it. */
const REEXPORT = new RegExp(`^exports\\.(\\w+) = (${REQUIRE}|\\w+);$`, 'gm');

/** Lines at the top that stay: `export *`, the version of a package, getters and comments. */
const ALLOWED = '(?!__exportStar\\(|Object\\.defineProperty\\(|\\s|/)';
const OTHER_IMPORT = new RegExp(`^(?:import\\b|${ALLOWED}.*\\brequire\\(["'][^"']+["']\\)(?!\\.)).*`, 'm');

/**
 * Makes one CommonJS file load each module that it imports on first use. Google's libraries load every imported module
 * at the top of a file, and most of these modules are never used by Dropforge: gRPC, administration, messages in
 * JavaScript (https://github.com/googleapis/nodejs-firestore/issues/528, open since 2019). The declaration
 * `const name = require('…')` becomes a getter, and esbuild replaces the uses of `name`, which are then those of an
 * undeclared variable. Throws if the file has an import of another form, which each start would load.
 */
export async function deferRequires(source: string): Promise<string> {
  const imports = new Map([...source.matchAll(IMPORT)].map(([, name = '', expression = '']) => [name, expression]));
  const body = source
    .replaceAll(IMPORT, '')
    .replaceAll(REEXPORT, (line, exported: string, expression: string) =>
      imports.has(expression) || expression.includes('require(')
        ? `Object.defineProperty(exports,"${exported}",{enumerable:true,get:()=>${expression}});`
        : line,
    );
  const [other] = OTHER_IMPORT.exec(body) ?? [];
  if (other !== undefined) {
    throw new Error(`"${other}" is an import of a form that is not deferred. Add the form, or exclude the file.`);
  }
  if (imports.size === 0) {
    return body;
  }
  const define = Object.fromEntries([...imports.keys()].map((name) => [name, `$$.${name}`]));
  const getters = [...imports].map(([name, expression]) => `get ${name}(){return ${name}$??=${expression}}`);
  const variables = [...imports.keys()].map((name) => `${name}$`);
  const { code } = await transform(body, { define, target: 'node24' });
  return code.replace(/^("use strict";\n)?/, (strict) => `${strict}var ${variables.join()},$$={${getters.join()}};`);
}
