/**
 * An import at the top of a file. Google's libraries are compiled by TypeScript, which loads every imported module at
 * the top of a file and refers to it as `name_1.member`. Most of these modules are never used by Dropforge: gRPC,
 * administration, messages in JavaScript. Each import becomes a function that loads the module on first use, so that a
 * start loads only what it needs and everything stays available.
 */
const IMPORT =
  /^(?:const|var) (\w+_\d+|\w+Protos|gcpMetadata|htmlEntities) = ((?:__import(?:Star|Default)\()?require\(["'][^"']+["']\)\)?);$/gm;

/** A re-export in two lines: `const protos = require('…'); exports.protos = protos;`. */
const REEXPORT = /^const (\w+) = ((?:__importStar\()?require\(["'][^"']+["']\)\)?);\nexports\.(\w+) = \1;$/gm;

/** A re-export in one line: `exports.gaxios = require('…');`. */
const INLINE_REEXPORT = /^exports\.(\w+) = (require\(["'][^"']+["']\));$/gm;

/** Excludes members of other objects and parts of strings: `'grpc.keepalive_time_ms'`, `'../protos/protos'`. */
const IDENTIFIER_START = '(?<![\\w.$\'"/-])';

/** Rewrites one CommonJS file. Returns files of another form unchanged. */
export function deferRequires(source: string): string {
  const deferred: (readonly [name: string, expression: string])[] = [];
  const body = source
    .replaceAll(REEXPORT, deferReexport)
    .replaceAll(INLINE_REEXPORT, (_line, exported: string, expression: string) => getterOf(exported, expression))
    .replaceAll(IMPORT, (_line, name: string, expression: string) => {
      deferred.push([name, expression]);
      return '';
    });
  const rewritten = deferred.reduce((text, [name]) => replaceUses(text, name), body);
  // Function declarations are hoisted: they exist before the first line runs.
  const loaders = deferred.map(
    ([name, expression]) => `var ${name}$;function ${name}(){return ${name}$??=${expression}}`,
  );
  return [rewritten, ...loaders].join('\n');
}

function deferReexport(...[lines, name = '', expression, exported, , source = '']: readonly string[]): string {
  const uses = source.match(new RegExp(`${IDENTIFIER_START}${name}\\b`, 'g'))?.length ?? 0;
  return uses > 2 ? String(lines) : getterOf(String(exported), String(expression));
}

function getterOf(exported: string, expression: string): string {
  return `Object.defineProperty(exports,"${exported}",{enumerable:true,get:()=>${expression}});`;
}

function replaceUses(text: string, name: string): string {
  return (
    text
      // A re-export by value would load the module.
      .replaceAll(new RegExp(`^exports\\.(\\w+) = ${name};$`, 'gm'), (_line, exported: string) =>
        getterOf(exported, `${name}()`),
      )
      .replaceAll(
        new RegExp(`\\bnew ${name}((?:\\.\\w+)+)`, 'g'),
        (_call, members: string) => `new (${name}()${members})`,
      )
      .replaceAll(new RegExp(`${IDENTIFIER_START}${name}\\b(?!\\(\\)|\\$)`, 'g'), `${name}()`)
  );
}
