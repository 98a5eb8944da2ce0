/** Where Vertex AI's prebuilt training images are: three hosts, and the place in which they first were. */
const REPOSITORIES = [
  'us-docker.pkg.dev/vertex-ai/training/',
  'europe-docker.pkg.dev/vertex-ai/training/',
  'asia-docker.pkg.dev/vertex-ai/training/',
  'gcr.io/cloud-aiplatform/training/',
];

/** `tf-gpu.2-11.py310:latest`: framework, device, version, and perhaps Python's version, a tag, a digest. */
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
 * The runtime version that stands for one of Vertex AI's prebuilt training images (Vertex AI, "Prebuilt containers for
 * custom training"): `2.11` for TensorFlow, by which AI Platform counted its runtime versions, `pytorch-1.13` and the
 * like for others. Undefined for an image that is none of them. The device is left out: the machine says whether there
 * are GPUs; so are the Python version, which the runtime version brings along, and the tag, which is always `latest`.
 */
export function runtimeVersionOf(executorImageUri: string): string | undefined {
  const repository = REPOSITORIES.find((prefix) => executorImageUri.startsWith(prefix));
  const name = repository === undefined ? null : NAME_PATTERN.exec(executorImageUri.slice(repository.length));
  const [, framework = '', , major, minor] = name ?? [];
  return name === null ? undefined : `${PREFIXES[framework]}${major}.${minor}`;
}
