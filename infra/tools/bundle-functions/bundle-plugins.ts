import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { OnLoadResult, Plugin } from 'esbuild';
import {
  type ApiCalls,
  COMPUTE_CALLS,
  cutApiDescription,
  PUBSUB_CALLS,
} from '#infra/tools/bundle-functions/cut-api-description.ts';
import { deferRequires } from '#infra/tools/bundle-functions/defer-requires.ts';
import { packAgent, readShutdownScript, readStartupScript } from '#infra/vm-agent/pack-agent.ts';

/** Modules that are large and hardly ever asked for: files of their own, read when they are. */
const RARE_MODULES =
  /^(@grpc\/grpc-js|web-streams-polyfill\/.*|.*\/protos\/(protos|firestore_v1_proto_api|iam_service|operations|locations))(\.js)?$/;

/** Large, and for nothing that a call of ours can reach: whoever comes to need one of these takes it off the list. */
const LEFT_OUT = new RegExp(
  [
    'firestore/build/src/pipelines/.*',
    'firestore_admin_client',
    'storage/.*/transfer-manager',
    // Functions publish with the generated client: no streams, no batches, no administration of topics.
    '@google-cloud/pubsub/build/src/(debug|iam|pubsub|schema|snapshot|subscriber|subscription|temporal|topic|publisher/.*)',
    'pubsub-api/build/src/v1/(subscriber|schema_service)_client',
  ]
    .map((file) => `${file}\\.js$`)
    .join('|'),
);

const GOOGLE_LIBRARIES = /node_modules\/(@google-cloud|google-gax|google-auth-library\/build|@grpc)\/.*\.js$/;

/** The functions-framework is whatever has started the process: a function registers with that one, and brings none along. */
export const framework: Plugin = replaceModule({
  name: 'framework-of-the-process',
  imported: /^@google-cloud\/functions-framework$/,
  write: async () => "module.exports = require.main.require('@google-cloud/functions-framework');",
});

/** Zod's messages in fifty languages; ours are English, which does not come from here. */
export const noLocales: Plugin = onLoad('no-locales', /node_modules\/zod\/v4\/locales\/index\.js$/, {
  loader: 'js',
  rewrite: () => 'export {};',
});

/** Zod as a namespace, of which esbuild leaves out what is not used; through `{ z }` it keeps all of it. */
export const shakenZod: Plugin = onLoad('shaken-zod', /\/(shared|functions|infra)\/.*\.ts$/, {
  loader: 'ts',
  rewrite: (text) => text.replace("import { z } from 'zod';", "import * as z from 'zod';"),
});

/** Cloud Storage's library in CommonJS, whose requires can be deferred. */
export const commonJs: Plugin = {
  name: 'common-js',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^@google-cloud\/storage$/ }, async ({ path, resolveDir, kind }) =>
      kind === 'require-call' ? undefined : resolve(path, { resolveDir, kind: 'require-call' }),
    );
  },
};

/** What VMs are started with, packed now: a deployed function has no folder to read it from. */
export const agent: Plugin = replaceModule({
  name: 'packed-agent',
  imported: /^#infra\/vm-agent\/pack-agent\.ts$/,
  write: async () => {
    const packed = Object.entries({ packAgent, readStartupScript, readShutdownScript }).map(
      async ([name, read]) => `exports.${name} = async () => ${JSON.stringify(await read())};`,
    );
    return (await Promise.all(packed)).join('\n');
  },
});

/** Data as a text that is parsed when it is asked for: V8 passes over it faster than over an object's source. */
export const largeData: Plugin = onLoad('large-data', /(machines|firestore-api\/build\/protos\/protos)\.json$/, {
  loader: 'js',
  rewrite: (text) => `module.exports = JSON.parse(${JSON.stringify(JSON.stringify(JSON.parse(text)))});`,
});

/** Descriptions of APIs, cut to what is called. */
export const apiDescriptions: readonly Plugin[] = [
  describedBy(/@google-cloud\/compute\/.*\/protos\.json$/, COMPUTE_CALLS),
  describedBy(/@google-cloud\/pubsub-api\/.*\/protos\.json$/, PUBSUB_CALLS),
];

type Correction = { readonly file: RegExp; readonly was: string; readonly becomes: string };

/** Where the libraries load at a start, or with every document, what hardly anybody asks for. */
const CORRECTIONS: readonly Correction[] = [
  {
    file: /@google-cloud\/firestore\/build\/src\/serializer\.js$/,
    was: 'var Value = firestore_v1_proto_api_1.google.firestore.v1.Value;',
    becomes:
      'var Value = { fromObject: (value) => firestore_v1_proto_api_1.google.firestore.v1.Value.fromObject(value) };',
  },
  {
    file: /@google-cloud\/firestore\/build\/src\/serializer\.js$/,
    was: '(0, pipeline_util_1.isString)(path)',
    becomes: "(typeof path === 'string')",
  },
  {
    file: /@google-cloud\/storage\/build\/cjs\/src\/index\.js$/,
    was: '__exportStar(require("./transfer-manager.js"), exports);',
    becomes: '',
  },
  {
    file: /@google-cloud\/firestore\/build\/src\/index\.js$/,
    was: 'module.exports = Object.assign(module.exports, existingExports);',
    becomes: 'Object.defineProperties(module.exports, Object.getOwnPropertyDescriptors(existingExports));',
  },
  {
    file: /google-gax\/build\/src\/index\.js$/,
    was: 'const grpc = __importStar(require("@grpc/grpc-js"));\nexports.grpc = grpc;',
    becomes: 'Object.defineProperty(exports, "grpc", { enumerable: true, get: () => require("@grpc/grpc-js") });',
  },
  {
    file: /google-gax\/build\/src\/index\.js$/,
    was: 'exports.createByteLengthFunction = grpc_1.GrpcClient?.createByteLengthFunction;',
    becomes: [
      'Object.defineProperty(exports, "createByteLengthFunction",',
      '{ enumerable: true, get: () => grpc_1.GrpcClient.createByteLengthFunction });',
    ].join(' '),
  },
  {
    // The client of a topic's permissions, which functions have no business with, is another description to parse.
    file: /pubsub-api\/build\/src\/v1\/publisher_client\.js$/,
    was: 'this.iamClient = new this._gaxModule.IamClient(this._gaxGrpc, opts);',
    becomes: '',
  },
];

export const leftOut: Plugin = onLoad('left-out', LEFT_OUT, {
  loader: 'js',
  // Its members are there, to be handed on and to be compared with: whoever calls one learns why that cannot be.
  rewrite(_, path) {
    const problem = JSON.stringify(`Deployed functions are built without ${basename(path)} (LEFT_OUT).`);
    return `module.exports = new Proxy({}, { get: () => function () { throw new Error(${problem}); } });`;
  },
});

/** Google's libraries, loading what they need when they need it. */
export const deferral: Plugin = onLoad('deferred-requires', GOOGLE_LIBRARIES, {
  loader: 'js',
  rewrite(text, path) {
    const corrections = CORRECTIONS.filter(({ file }) => file.test(path));
    const missing = corrections.find(({ was }) => !text.includes(was));
    if (missing !== undefined) {
      throw new Error(`${path} no longer has "${missing.was}": see what it loads at a start now.`);
    }
    return deferRequires(corrections.reduce((before, { was, becomes }) => before.replace(was, () => becomes), text));
  },
});

/** Puts rare modules beside the bundle; `found` takes the file of each, by the name under which it is looked for. */
export function setRareModulesApart(found: Map<string, string>): Plugin {
  return {
    name: 'rare-modules',
    setup({ onResolve, resolve }) {
      onResolve({ filter: RARE_MODULES }, async ({ path, resolveDir, kind, pluginData }) => {
        if (pluginData === 'looked-up' || !resolveDir.includes('node_modules')) {
          return undefined;
        }
        const resolved = await resolve(path, { resolveDir, kind, pluginData: 'looked-up' });
        const [, library = ''] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(resolved.path) ?? [];
        const name = `${library.replaceAll(/[^\w]+/g, '-').replace(/^-/, '')}-${basename(resolved.path, '.js')}.js`;
        found.set(name, resolved.path);
        return { path: `./rare/${name}`, external: true };
      });
    },
  };
}

function describedBy(file: RegExp, calls: ApiCalls): Plugin {
  return onLoad(`description-of-${calls.package}`, file, {
    loader: 'json',
    rewrite: (text) => cutApiDescription(text, calls),
  });
}

type Replacement = {
  readonly name: string;
  readonly imported: RegExp;
  readonly write: () => Promise<string>;
};

function replaceModule({ name, imported, write }: Replacement): Plugin {
  return {
    name,
    setup(build) {
      build.onResolve({ filter: imported }, ({ path }) => ({ path, namespace: name }));
      build.onLoad({ filter: imported, namespace: name }, async (): Promise<OnLoadResult> => {
        return { contents: await write(), loader: 'js' };
      });
    },
  };
}

function onLoad(
  name: string,
  filter: RegExp,
  {
    loader,
    rewrite,
  }: { readonly loader: 'js' | 'json' | 'ts'; readonly rewrite: (text: string, path: string) => string },
): Plugin {
  return {
    name,
    setup(build) {
      build.onLoad({ filter }, async ({ path }) => ({ contents: rewrite(await readFile(path, 'utf8'), path), loader }));
    },
  };
}
