import { distributionOf } from '#shared/python/python-packages.ts';
import { didYouMean, nearestName } from '#shared/text/nearest-name.ts';

const SOME_GOOGLE_CLIENT = 'google-cloud-storage (or the client of another service)';

const normalized = (module: string) => module.toLowerCase().replaceAll('_', '-');

/** Packages that programs for training often require. */
const KNOWN: readonly string[] = [
  ...['numpy', 'pandas', 'scipy', 'scikit-learn', 'matplotlib', 'seaborn', 'torch', 'torchvision', 'torchaudio'],
  ...[
    'tensorflow',
    'keras',
    'jax',
    'flax',
    'optax',
    'transformers',
    'datasets',
    'accelerate',
    'tokenizers',
    'lightning',
  ],
  ...[
    'xgboost',
    'lightgbm',
    'catboost',
    'wandb',
    'mlflow',
    'tensorboard',
    'tqdm',
    'requests',
    'omegaconf',
    'hydra-core',
  ],
  ...['scikit-image', 'opencv-python-headless', 'pillow', 'pyyaml', 'beautifulsoup4', 'pytorch-lightning', 'faiss-cpu'],
];

/** What to require for a module that is missing, as a sentence after another one; empty if that is not known. */
export function describeDistribution(module: string): string {
  const [top = ''] = module.split('.');
  const known = distributionOf(module) ?? distributionOf(top);
  const distribution = top === 'google' ? (known ?? SOME_GOOGLE_CLIENT) : known;
  const isNamedSo = distribution === undefined || distribution === normalized(top);
  return isNamedSo ? describeNearest(top) : ` The package ${distribution} has it.`;
}

/** `Did you mean "numpy"?` after another sentence, for a name that is none of the known ones, but near to one. */
export function describeNearest(name: string): string {
  return KNOWN.includes(name) || nearestName(name, KNOWN) === undefined ? '' : ` ${didYouMean(name, KNOWN).trim()}`;
}
