/** The repositories of Vertex AI's prebuilt training images: three regional ones, and the original one. */
const REPOSITORIES = [
  'us-docker.pkg.dev/vertex-ai/training/',
  'europe-docker.pkg.dev/vertex-ai/training/',
  'asia-docker.pkg.dev/vertex-ai/training/',
  'gcr.io/cloud-aiplatform/training/',
];

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
 * The runtime version of one of Vertex AI's prebuilt training images (Vertex AI, "Prebuilt containers for custom
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
