import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openEnvironment } from '../support/frameworks/framework-environment.ts';
import { exportSource, findClone } from './sources.ts';

/** What the images of AI Platform and Vertex AI bring, as far as the index of this machine has it. */
const PACKAGES = [
  'accelerate',
  'cloudml-hypertune',
  'gcsfs',
  'google-cloud-storage',
  'gymnasium',
  'jax',
  'joblib',
  'lightgbm',
  'lightning',
  'matplotlib',
  'optuna',
  // Version 3 removed what programs of these images use.
  'pandas<3',
  'requests',
  'scikit-learn',
  'setuptools',
  'tensorboard',
  'tensorflow-cpu',
  'torch',
  'torchvision',
  'transformers',
] as const;

/**
 * Packages of these images that are installed from their sources if the index lacks them, in this order, with what they
 * import: their own pins are of another time than the image.
 */
const SOURCES = [
  {
    name: 'cloudml-hypertune',
    repository: 'GoogleCloudPlatform/cloudml-hypertune',
    commit: '8e3530e1c4926ac64cf28330d1104b838e07a468',
    imports: [],
  },
  {
    name: 'google-resumable-media',
    repository: 'googleapis/google-resumable-media-python',
    commit: 'b77efe06dc9a85131983802f551c4509dc13ec88',
    imports: [],
  },
  {
    name: 'google-cloud-core',
    repository: 'googleapis/python-cloud-core',
    commit: 'dc9aa13ed59384914a58f586eafafeb4afac49fa',
    imports: ['google-api-core', 'google-auth'],
  },
  {
    name: 'google-cloud-storage',
    repository: 'googleapis/python-storage',
    commit: 'ab4997ce0f7b85947e84b226bd0edf6d714a946a',
    imports: ['google-crc32c', 'requests'],
  },
  {
    name: 'gcsfs',
    repository: 'fsspec/gcsfs',
    commit: 'd9e5c1c62e8f42043cda4ea7c4826b928b61063e',
    imports: ['aiohttp', 'decorator', 'fsspec', 'google-auth-oauthlib'],
  },
] as const;

const INSTALL_MS_MAX = 300_000;

/** The interpreter of an image as the managed services have them; undefined if pip can install nothing here. */
export async function openImage(sources: string, folder: string): Promise<string | undefined> {
  const { python } = await openEnvironment(PACKAGES);
  if (python === undefined) {
    return undefined;
  }
  for (const { name, repository, commit, imports } of SOURCES) {
    const clone = findClone(sources, repository);
    if (clone !== undefined && !(await isInstalled(python, name))) {
      const target = join(folder, repository.replace('/', '-'));
      await exportSource(clone, { commit, path: '.' }, target);
      await install(python, target, imports);
    }
  }
  return python;
}

async function isInstalled(python: string, name: string): Promise<boolean> {
  const script = 'import importlib.metadata, sys; importlib.metadata.version(sys.argv[1])';
  return promisify(execFile)(python, ['-c', script, name]).then(
    () => true,
    () => false,
  );
}

async function install(python: string, target: string, imports: readonly string[]): Promise<void> {
  const pip = ['-m', 'pip', 'install', '--quiet', '--retries', '0', '--timeout', '5'];
  const run = (args: readonly string[]) => promisify(execFile)(python, [...pip, ...args], { timeout: INSTALL_MS_MAX });
  try {
    await run(['wheel', ...imports]);
    await run(['--no-deps', '--no-build-isolation', target]);
  } catch (error) {
    process.stderr.write(`${target} could not be installed into the image: ${String(error).slice(0, 300)}\n`);
  }
}
