import { describe, expect, it } from 'vitest';
import { runtimeVersionOf } from '#shared/catalog/executor-images.ts';

describe('runtimeVersionOf', () => {
  it.each([
    ['us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-11.py310:latest', '2.11'],
    ['europe-docker.pkg.dev/vertex-ai/training/tf-cpu.2-8:latest', '2.8'],
    ['us-docker.pkg.dev/vertex-ai/training/tf-tpu.2-15.cp310:latest', '2.15'],
    ['gcr.io/cloud-aiplatform/training/tf-cpu.1-15', '1.15'],
    ['asia-docker.pkg.dev/vertex-ai/training/pytorch-xla.1-11:latest', 'pytorch-1.11'],
    ['us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.2-2.py310:latest', 'pytorch-2.2'],
    ['us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-0:latest', 'scikit-learn-1.0'],
    ['gcr.io/cloud-aiplatform/training/scikit-learn-cpu.0-23:latest', 'scikit-learn-0.23'],
    ['us-docker.pkg.dev/vertex-ai/training/xgboost-cpu.1-7:latest', 'xgboost-1.7'],
    [`us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-8@sha256:${'0'.repeat(64)}`, '2.8'],
  ])('maps %s to runtime version %s', (image, version) => {
    expect(runtimeVersionOf(image)).toBe(version);
  });

  it.each([
    '',
    'us-docker.pkg.dev/vertex-ai/prediction/tf2-cpu.2-11:latest',
    'us-docker.pkg.dev/vertex-ai/training/tf-tpu-pod-base-cp310:latest',
    'us-docker.pkg.dev/vertex-ai/training/jax-gpu.0-4:latest',
    'us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-11/extra:latest',
    'us-central1-docker.pkg.dev/lab/vertex-ai/training/tf-gpu.2-11:latest',
    'gcr.io/lab/tf-gpu.2-11:latest',
    'tf-gpu.2-11',
    '<image>',
    'constructor',
  ])('returns undefined for %j', (image) => {
    expect(runtimeVersionOf(image)).toBeUndefined();
  });
});
