import { didYouMean, nearestName } from '#shared/text/nearest-name.ts';

/** Modules whose distributions have another name. */
const DISTRIBUTIONS: Readonly<Record<string, string>> = {
  sklearn: 'scikit-learn',
  skimage: 'scikit-image',
  cv2: 'opencv-python-headless',
  PIL: 'Pillow',
  yaml: 'PyYAML',
  bs4: 'beautifulsoup4',
  dateutil: 'python-dateutil',
  dotenv: 'python-dotenv',
  Crypto: 'pycryptodome',
  hypertune: 'cloudml-hypertune',
  tensorboardX: 'tensorboardX',
  pytorch_lightning: 'pytorch-lightning',
  google: 'google-cloud-storage (or the client of another service)',
  serial: 'pyserial',
  attr: 'attrs',
  git: 'GitPython',
  fitz: 'PyMuPDF',
  faiss: 'faiss-cpu',
  umap: 'umap-learn',
  Levenshtein: 'python-Levenshtein',
};

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
  ...Object.values(DISTRIBUTIONS).filter((name) => !name.includes(' ')),
];

/** What to require for a module that is missing, as a sentence after another one; empty if that is not known. */
export function describeDistribution(module: string): string {
  const [top = ''] = module.split('.');
  const distribution = Object.hasOwn(DISTRIBUTIONS, top) ? DISTRIBUTIONS[top] : undefined;
  return distribution === undefined ? describeNearest(top) : ` The package ${distribution} has it.`;
}

/** `Did you mean "numpy"?` after another sentence, for a name that is none of the known ones, but near to one. */
export function describeNearest(name: string): string {
  return KNOWN.includes(name) || nearestName(name, KNOWN) === undefined ? '' : ` ${didYouMean(name, KNOWN).trim()}`;
}
