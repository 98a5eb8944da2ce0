/**
 * The repositories of prebuilt training images: Vertex AI's three regional ones and its original one, and AI Platform's.
 */
const REPOSITORIES = [
  'us-docker.pkg.dev/vertex-ai/training/',
  'europe-docker.pkg.dev/vertex-ai/training/',
  'asia-docker.pkg.dev/vertex-ai/training/',
  'gcr.io/cloud-aiplatform/training/',
  'gcr.io/cloud-ml-public/training/',
  'gcr.io/cloud-ml-public/',
];

/** AI Platform's built-in algorithms, such as `gcr.io/cloud-ml-algos/boosted_trees:latest`: programs of their own. */
const ALGORITHMS = 'gcr.io/cloud-ml-algos/';

/** Whether Google built this image for training: with frameworks or an algorithm, and without a user's program. */
export function isPrebuiltImage(imageUri: string): boolean {
  return isAlgorithmImage(imageUri) || REPOSITORIES.some((prefix) => imageUri.startsWith(prefix));
}

export function isAlgorithmImage(imageUri: string): boolean {
  return imageUri.startsWith(ALGORITHMS);
}

/** `tf-gpu.2-11.py310:latest`: framework, device, version, and optionally Python version, tag and digest. */
const NAME_PATTERN =
  /^(tf|pytorch|scikit-learn|sklearn|xgboost)-(cpu|gpu|tpu|xla)\.(\d+)-(\d+)(\.(py|cp)\d+)?(:[\w.-]+)?(@\S+)?$/;

const PREFIXES: Readonly<Record<string, string>> = {
  tf: '',
  pytorch: 'pytorch-',
  'scikit-learn': 'scikit-learn-',
  sklearn: 'scikit-learn-',
  xgboost: 'xgboost-',
};

/**
 * The runtime version of one of the prebuilt training images (Vertex AI, "Prebuilt containers for custom
 * training"): `2.11` for TensorFlow, whose versions AI Platform used as runtime versions, `pytorch-1.13` and similar
 * for others; undefined for other images. Ignores the device, because the machine determines whether there are GPUs,
 * the Python version, which the runtime version determines, and the tag, which is always `latest`.
 */
export function runtimeVersionOf(executorImageUri: string): string | undefined {
  const repository = REPOSITORIES.find((prefix) => executorImageUri.startsWith(prefix));
  const name = repository === undefined ? null : NAME_PATTERN.exec(executorImageUri.slice(repository.length));
  const [, framework = '', , major, minor] = name ?? [];
  return name === null ? undefined : `${PREFIXES[framework]}${major}.${minor}`;
}
