import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { OnLoadResult, Plugin } from 'esbuild';
import { deferRequires } from '#infra/tools/bundle-functions/defer-requires.ts';
import {
  type ApiCalls,
  COMPUTE_CALLS,
  PUBSUB_CALLS,
  trimApiDescription,
} from '#infra/tools/bundle-functions/trim-api-description.ts';
import { readShutdownScript, readStartupScript } from '#infra/vm-agent/boot-scripts.ts';

/** Large modules that are rarely used: kept in separate files, which are loaded on first use. */
const RARE_MODULES = [
  '@grpc/grpc-js',
  'web-streams-polyfill/.*',
  ...'protos firestore_v1_proto_api iam_service operations locations'.split(' ').map((name) => `.*/protos/${name}`),
];

/** Large modules that no call of Dropforge reaches. To use one, remove it from this list. */
const EXCLUDED_MODULES = [
  'firestore/build/src/pipelines/.*',
  'firestore_admin_client',
  // Functions publish with the generated client, which needs no streams, batches or administration of topics.
  ...'debug iam pubsub schema snapshot subscriber subscription temporal topic publisher/.*'
    .split(' ')
    .map((name) => `@google-cloud/pubsub/build/src/${name}`),
  'pubsub-api/build/src/v1/subscriber_client',
  'pubsub-api/build/src/v1/schema_service_client',
].map((file) => `${file}\\.js`);

const GOOGLE_LIBRARIES = ['@google-cloud', 'google-gax', 'google-auth-library/build', '@grpc'].map(
  (library) => `node_modules/${library}/.*\\.js`,
);

/** JSON that not every call needs. */
const EMBEDDED_JSON = ['machines\\.json', 'firestore-api/build/protos/protos\\.json'];

const COMPUTE_DESCRIPTION = '@google-cloud/compute/.*/protos\\.json';
const PUBSUB_DESCRIPTION = '@google-cloud/pubsub-api/.*/protos\\.json';

/** Functions register with the functions-framework that started the process; a bundle does not contain its own copy. */
export const framework: Plugin = replaceModule({
  name: 'process-framework',
  imported: /^@google-cloud\/functions-framework$/,
  write: async () => "module.exports = require.main.require('@google-cloud/functions-framework');",
});

/** Resolves Cloud Storage's library to its CommonJS build, whose requires can be deferred. */
export const commonJsStorage: Plugin = {
  name: 'common-js-storage',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^@google-cloud\/storage$/ }, async ({ path, resolveDir, kind }) =>
      kind === 'require-call' ? undefined : resolve(path, { resolveDir, kind: 'require-call' }),
    );
  },
};

/** Embeds the VMs' scripts in the bundle: a deployed function has no source folder to read them from. */
export const bootScripts: Plugin = replaceModule({
  name: 'boot-scripts',
  imported: /^#infra\/vm-agent\/boot-scripts\.ts$/,
  write: async () => {
    const scripts = Object.entries({ readStartupScript, readShutdownScript }).map(
      async ([name, read]) => `exports.${name} = async () => ${JSON.stringify(await read())};`,
    );
    return (await Promise.all(scripts)).join('\n');
  },
});

/** Embeds JSON as a string that is parsed on first use: V8 scans it faster than the source of an object. */
export const embeddedJson: Plugin = onLoad('embedded-json', EMBEDDED_JSON, {
  loader: 'js',
  rewrite: (text) => `module.exports = JSON.parse(${JSON.stringify(JSON.stringify(JSON.parse(text)))});`,
});

/** Trims the descriptions of APIs to the methods that are called. */
export const apiDescriptions: readonly Plugin[] = [
  trimDescription(COMPUTE_DESCRIPTION, COMPUTE_CALLS),
  trimDescription(PUBSUB_DESCRIPTION, PUBSUB_CALLS),
];

type Patch = { readonly file: string; readonly search: string; readonly replacement: string };

/** Patches for code that loads rarely used modules at each start, or for every document. */
const PATCHES: readonly Patch[] = [
  {
    file: '@google-cloud/firestore/build/src/serializer.js',
    search: 'var Value = firestore_v1_proto_api_1.google.firestore.v1.Value;',
    replacement:
      'var Value = { fromObject: (value) => firestore_v1_proto_api_1.google.firestore.v1.Value.fromObject(value) };',
  },
  {
    file: '@google-cloud/firestore/build/src/serializer.js',
    search: '(0, pipeline_util_1.isString)(path)',
    replacement: "(typeof path === 'string')",
  },
  {
    file: '@google-cloud/storage/build/cjs/src/index.js',
    search: '__exportStar(require("./transfer-manager.js"), exports);',
    replacement: '',
  },
  {
    file: '@google-cloud/firestore/build/src/index.js',
    search: 'module.exports = Object.assign(module.exports, existingExports);',
    replacement: 'Object.defineProperties(module.exports, Object.getOwnPropertyDescriptors(existingExports));',
  },
  {
    file: 'google-gax/build/src/index.js',
    search: 'exports.createByteLengthFunction = grpc_1.GrpcClient?.createByteLengthFunction;',
    replacement: [
      'Object.defineProperty(exports, "createByteLengthFunction",',
      '{ enumerable: true, get: () => grpc_1.GrpcClient.createByteLengthFunction });',
    ].join(' '),
  },
  {
    // The client for a topic's IAM policy, which functions do not use, would parse another description.
    file: 'pubsub-api/build/src/v1/publisher_client.js',
    search: 'this.iamClient = new this._gaxModule.IamClient(this._gaxGrpc, opts);',
    replacement: '',
  },
];

/** Replaces excluded modules with stubs: their members can be re-exported and compared, and throw when called. */
export const excludedModules: Plugin = onLoad('excluded-modules', EXCLUDED_MODULES, {
  loader: 'js',
  rewrite(_, path) {
    const problem = JSON.stringify(`${basename(path)} is excluded from the bundles of functions (EXCLUDED_MODULES).`);
    return `module.exports = new Proxy({}, { get: () => function () { throw new Error(${problem}); } });`;
  },
});

/** Makes Google's libraries load modules on first use. */
export const deferredRequires: Plugin = onLoad('deferred-requires', GOOGLE_LIBRARIES, {
  loader: 'js',
  rewrite(text, path) {
    const patches = PATCHES.filter(({ file }) => path.endsWith(file));
    const missing = patches.find(({ search }) => !text.includes(search));
    if (missing !== undefined) {
      throw new Error(
        `${path} no longer contains "${missing.search}". Check what it loads at a start, and update PATCHES.`,
      );
    }
    return deferRequires(
      patches.reduce((patched, { search, replacement }) => patched.replace(search, () => replacement), text),
    );
  },
});

/** Keeps rarely used modules out of the bundle. Adds the path of each to `found`, by its file name in the archive. */
export function splitRareModules(found: Map<string, string>): Plugin {
  return {
    name: 'rare-modules',
    setup({ onResolve, resolve }) {
      onResolve(
        { filter: new RegExp(`^(${RARE_MODULES.join('|')})(\\.js)?$`) },
        async ({ path, resolveDir, kind, pluginData }) => {
          if (pluginData === 'resolved' || !resolveDir.includes('node_modules')) {
            return undefined;
          }
          const resolved = await resolve(path, { resolveDir, kind, pluginData: 'resolved' });
          const [, library = ''] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(resolved.path) ?? [];
          const name = `${library.replaceAll(/[^\w]+/g, '-').replace(/^-/, '')}-${basename(resolved.path, '.js')}.js`;
          found.set(name, resolved.path);
          return { path: `./rare/${name}`, external: true };
        },
      );
    },
  };
}

/**
 * Throws if a pattern matches no source file of all functions together: a library has moved it, and each start would
 * load, parse or run what the pattern leaves out.
 */
export function checkPatterns(inputs: readonly string[]): void {
  const patterns = [
    ...RARE_MODULES.map((name) => `${name}.*\\.js$`),
    ...[...EXCLUDED_MODULES, ...GOOGLE_LIBRARIES, ...EMBEDDED_JSON],
    ...[COMPUTE_DESCRIPTION, PUBSUB_DESCRIPTION, 'process-framework:', 'boot-scripts:'],
    ...PATCHES.map(({ file }) => file),
  ];
  const unmatched = patterns.filter((pattern) => !inputs.some((path) => new RegExp(pattern).test(path)));
  if (unmatched.length > 0) {
    throw new Error(`No bundle contains ${unmatched.join(', ')}. Check what a start loads (bundle-plugins.ts).`);
  }
}

function trimDescription(file: string, calls: ApiCalls): Plugin {
  return onLoad(`description-of-${calls.package}`, [file], {
    loader: 'json',
    rewrite: (text) => trimApiDescription(text, calls),
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
  files: readonly string[],
  {
    loader,
    rewrite,
  }: { readonly loader: 'js' | 'json'; readonly rewrite: (text: string, path: string) => string | Promise<string> },
): Plugin {
  return {
    name,
    setup(build) {
      build.onLoad({ filter: new RegExp(`(${files.join('|')})$`) }, async ({ path }) => ({
        contents: await rewrite(await readFile(path, 'utf8'), path),
        loader,
      }));
    },
  };
}
