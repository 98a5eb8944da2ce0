/**
 * Google's libraries are compiled by TypeScript, which loads every imported module at the top of a file and uses it as
 * `name_1.member`. Most of them no call of ours ever reaches: gRPC, administration, messages in JavaScript. Here the top
 * of the file becomes functions that load on first use, so that a start reads what it needs and nothing is missing.
 */
const IMPORT =
  /^(?:const|var) (\w+_\d+|\w+Protos|gcpMetadata|htmlEntities) = ((?:__import(?:Star|Default)\()?require\(["'][^"']+["']\)\)?);$/gm;

/** A module that is loaded to be handed on: `const protos = require('…'); exports.protos = protos;`. */
const HANDED_ON = /^const (\w+) = ((?:__importStar\()?require\(["'][^"']+["']\)\)?);\nexports\.(\w+) = \1;$/gm;

/** The same in one line: `exports.gaxios = require('…');`. */
const HANDED_ON_AT_ONCE = /^exports\.(\w+) = (require\(["'][^"']+["']\));$/gm;

/** No member of something else, and no part of a text: `'grpc.keepalive_time_ms'`, `'../protos/protos'`. */
const UNQUOTED = '(?<![\\w.$\'"/-])';

/** Rewrites one CommonJS file; one that is made otherwise comes back as it was. */
export function deferRequires(source: string): string {
  const deferred: (readonly [name: string, expression: string])[] = [];
  const body = source
    .replaceAll(HANDED_ON, handOnLater)
    .replaceAll(HANDED_ON_AT_ONCE, (_line, exported: string, expression: string) => getterOf(exported, expression))
    .replaceAll(IMPORT, (_line, name: string, expression: string) => {
      deferred.push([name, expression]);
      return '';
    });
  const rewritten = deferred.reduce((text, [name]) => callEverywhere(text, name), body);
  // Declared functions are there before the first line runs.
  const loaders = deferred.map(
    ([name, expression]) => `var ${name}$;function ${name}(){return ${name}$??=${expression}}`,
  );
  return [rewritten, ...loaders].join('\n');
}

function handOnLater(...[lines, name = '', expression, exported, , source = '']: readonly string[]): string {
  const uses = source.match(new RegExp(`${UNQUOTED}${name}\\b`, 'g'))?.length ?? 0;
  return uses > 2 ? String(lines) : getterOf(String(exported), String(expression));
}

function getterOf(exported: string, expression: string): string {
  return `Object.defineProperty(exports,"${exported}",{enumerable:true,get:()=>${expression}});`;
}

function callEverywhere(text: string, name: string): string {
  return (
    text
      // What is handed on would be loaded for it.
      .replaceAll(new RegExp(`^exports\\.(\\w+) = ${name};$`, 'gm'), (_line, exported: string) =>
        getterOf(exported, `${name}()`),
      )
      .replaceAll(
        new RegExp(`\\bnew ${name}((?:\\.\\w+)+)`, 'g'),
        (_call, members: string) => `new (${name}()${members})`,
      )
      .replaceAll(new RegExp(`${UNQUOTED}${name}\\b(?!\\(\\)|\\$)`, 'g'), `${name}()`)
  );
}
