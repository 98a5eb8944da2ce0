import { describeMistakes, jobFile } from '../../../support/cli/mistakes.ts';

const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le');
const GOOD = 'module: trainer.task\nmachine: n1-standard-4\n';

describeMistakes('syntax of job files', [
  jobFile('module: trainer.task\n\tgpu: T4\n', 1, 'line 2', 'tab', 'spaces'),
  jobFile('module: trainer.task\n  gpu: T4\n', 1, /^ {2}error NOT_YAML \(line 2\)/m, 'indent'),
  jobFile('module: trainer.task\n gpu: T4\nregion: us-central1\n', 1, 'line 2', 'indent'),
  jobFile('trainingInput:\n  scaleTier: BASIC\n region: us-central1\n', 1, 'line 3', 'indent'),
  jobFile('workers:\n  count: 2\n   machine: n1-standard-4\nmodule: a.b\n', 1, 'line 3', 'indent'),
  jobFile('module:trainer.task\ngpu: T4\n', 1, 'line 1', 'space'),
  jobFile('module:trainer.task\n', 1, 'line 1', 'space'),
  jobFile('{"module": "trainer.task", "machine": "n1-standard-4",}\n', 0, 'valid'),
  jobFile('{"module": "trainer.task"\n "machine": "n1-standard-4"}\n', 1, 'line 2', 'Missing ,'),
  jobFile("{'module': 'trainer.task', 'machine': 'n1-standard-4'}\n", 0, 'valid'),
  jobFile('module = "trainer.task"\ngpu = "T4"\n', 1, 'TOML', 'module: trainer.task'),
  jobFile('[job]\nmodule = "trainer.task"\n', 1, 'TOML'),
  jobFile(`\uFEFF${GOOD}`, 0, 'valid'),
  jobFile(utf16(GOOD), 0, 'valid'),
  jobFile(GOOD.replaceAll('\n', '\r\n'), 0, 'valid'),
  jobFile('', 1, 'is empty', 'module:'),
  jobFile('# nothing yet\n', 1, 'is empty', 'module:'),
  jobFile('module: “trainer.task”\nmachine: n1-standard-4\n', 1, '“trainer.task”', 'names separated by dots'),
  jobFile(
    'module: trainer.task\nmachine: n1-standard-4\nmachine: n1-standard-8\n',
    1,
    '"machine" is set twice',
    'Remove one',
  ),
  jobFile('module: trainer.task\nargs: [--lr=0.1\n', 1, 'line 2', ']'),
  jobFile('module: "trainer.task\nmachine: n1-standard-4\n', 1, 'line 1', 'quotation mark'),
  jobFile(
    'module: trainer.task\nmachine: n1-standard-4\n---\nmodule: a.b\n',
    1,
    'more than one document',
    'its own file',
  ),
  jobFile('module: trainer.task\nmachine: *standard\n', 1, '*standard is not defined'),
  jobFile(
    'module: trainer.task\nmachine: n1-standard-4\nargs: --epochs 5\n',
    1,
    'is not split by a shell',
    '[--epochs, 5]',
  ),
  jobFile('- module: trainer.task\n- gpu: T4\n', 1, 'is a list, not a mapping', 'Remove the hyphens'),
  jobFile('trainer.task\n', 1, 'module:'),
  jobFile('import torch\nprint(torch.cuda.is_available())\n', 1, 'Python', '--package'),
  jobFile(`module: trainer.task\nmachine: \${MACHINE}\n`, 0, `placeholder \${MACHINE}`),
  jobFile('module: {{ module }}\nmachine: n1-standard-4\n', 1, 'line 1', 'placeholder in {{ }}'),
  jobFile(Buffer.from([0x50, 0x4b, 3, 4, 0, 255, 254, 9]), 1, 'neither UTF-8', '--package'),
]);

const KUBERNETES = `apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      containers: [{name: main, image: pytorch/pytorch}]
`;
const SKYPILOT = `resources:
  accelerators: A100:8
setup: pip install -r requirements.txt
run: python train.py
`;
const SAGEMAKER = JSON.stringify({
  TrainingJobName: 'a',
  AlgorithmSpecification: { TrainingImage: 'x', TrainingInputMode: 'File' },
  ResourceConfig: { InstanceType: 'ml.p3.2xlarge', InstanceCount: 1, VolumeSizeInGB: 50 },
});
const COMPOSE = `services:
  train:
    image: pytorch/pytorch
    command: python train.py
`;
const PAGE = 'docs/coming-from-other-tools.md';

describeMistakes('files of other tools', [
  jobFile(KUBERNETES, 1, 'Kubernetes', `${PAGE}#kubernetes`),
  jobFile('apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec: {}\n', 1, 'Kubernetes', PAGE),
  jobFile(SKYPILOT, 1, 'SkyPilot', `${PAGE}#skypilot`),
  jobFile('name: a\nresources: {accelerators: T4}\nrun: python train.py\n', 1, 'SkyPilot', PAGE),
  jobFile('resources:\n  # accelerators: T4\nrun: python train.py\n', 1, 'SkyPilot', PAGE),
  jobFile('name: a\nworkdir: .\nnum_nodes: 2\nsetup: pip install torch\nrun: torchrun train.py\n', 1, 'SkyPilot', PAGE),
  jobFile(SAGEMAKER, 1, 'SageMaker', `${PAGE}#sagemaker`),
  jobFile(COMPOSE, 1, 'Docker Compose', `${PAGE}#docker-compose`),
  jobFile('version: "3"\nservices: {a: {image: x}}\n', 1, 'Docker Compose', PAGE),
  jobFile('on: push\njobs: {train: {runs-on: ubuntu-latest, steps: []}}\n', 1, 'GitHub Actions', 'job file'),
  jobFile('program: train.py\nmethod: bayes\nparameters: {lr: {min: 0, max: 1}}\n', 1, 'tune'),
  jobFile('name: env\nchannels: [conda-forge]\ndependencies: [python=3.11]\n', 1, 'conda', 'module:'),
  jobFile('{"name": "web", "version": "1.0.0", "scripts": {}}', 1, 'module'),
  jobFile('{"type": "service_account", "private_key": "x"}', 1, 'key'),
  jobFile(
    'displayName: a\njobSpec: {workerPoolSpecs: [[{machineSpec: {machineType: n1-standard-4}, replicaCount: 1, containerSpec: {imageUri: a}}]]}\n',
    1,
    'workerPoolSpecs[0]',
    'mapping',
  ),
  jobFile(
    'displayName: a\njobSpec: {baseOutputDirectory: gs://jobs/a, workerPoolSpecs: [{machineSpec: {machineType: n1-standard-4}, replicaCount: 1, containerSpec: {imageUri: a}}]}\n',
    1,
    'baseOutputDirectory',
    'outputUriPrefix',
  ),
]);

describeMistakes('fields and values', [
  jobFile('modul: trainer.task\nmachine: n1-standard-4\n', 1, 'modul', 'module'),
  jobFile('Module: trainer.task\nMachine: n1-standard-4\n', 1, 'module'),
  jobFile(`${GOOD}regoin: us-central1\n`, 1, 'regoin', 'region'),
  jobFile(`${GOOD}zone: us-central1-a\n`, 1, 'zone', 'region'),
  jobFile(`${GOOD}region: us-central1-a\n`, 1, 'us-central1-a', 'is a zone', 'us-central1'),
  jobFile(`${GOOD}region: us-central\n`, 1, 'us-central', 'us-central1'),
  jobFile(`${GOOD}region: us-east-1\n`, 1, 'us-east-1', 'us-east1'),
  jobFile('module: trainer/task.py\nmachine: n1-standard-4\n', 0, 'valid'),
  jobFile('module: python -m trainer.task\nmachine: n1-standard-4\n', 1, 'python -m', 'trainer.task'),
  jobFile('module: python trainer/task.py\nmachine: n1-standard-4\n', 1, 'python', 'trainer.task'),
  jobFile('command: python train.py\ngpu: T4\n', 1, 'command is one text', '[python, train.py]'),
  jobFile('script: train.py\n', 1, 'none of the fields', 'module:'),
  jobFile('entrypoint: train.py\ngpu: T4\n', 1, 'entrypoint', 'module'),
  jobFile('run: python train.py\ngpu: T4\n', 1, 'run', 'module'),
  jobFile(`${GOOD}timeout: 2 hours\n`, 1, 'timeout', 'maxRuntime'),
  jobFile('module: a.b\ngpu: NVIDIA_T4\n', 0, 'nvidia-tesla-t4'),
  jobFile('module: a.b\ngpu: nvidia-tesla-t4\n', 0, 'nvidia-tesla-t4'),
  jobFile('module: a.b\ngpu: RTX4090\n', 1, 'RTX4090', 'Google Cloud', 'L4'),
  jobFile('module: a.b\ngpu: RTX 3090\n', 1, 'RTX 3090', 'Google Cloud', 'L4'),
  jobFile('module: a.b\ngpu: A10G\n', 1, 'A10G', 'Google Cloud', 'L4'),
  jobFile('module: a.b\ngpu: M60\n', 1, 'M60', 'Google Cloud', 'T4'),
  jobFile('module: a.b\ngpu: MI300X\n', 1, 'MI300X', 'Google Cloud', 'H200'),
  jobFile('module: a.b\ngpu: A100-40G\n', 0, 'nvidia-tesla-a100'),
  jobFile('module: a.b\ngpu: H100:8\n', 0, '8 × nvidia-h100-80gb'),
  jobFile('module: a.b\ngpu: 3 x T4\n', 1, 'number of NVIDIA_TESLA_T4', 'count of 1, 2, 4'),
  jobFile('module: a.b\ngpu: 2\n', 1, 'does not name a GPU', '2 x T4'),
  jobFile('module: a.b\ngpu: true\n', 1, 'gpu', 'T4'),
  jobFile('module: a.b\ngpu: [T4, L4]\n', 1, 'gpu', '2 x T4'),
  jobFile(
    'module: a.b\nmachine: a2-highgpu-1g\ngpu: T4\n',
    1,
    'a2-highgpu-1g has 1 × A100 built in',
    'Remove the GPUs',
  ),
  jobFile('module: a.b\nmachine: e2-standard-4\ngpu: T4\n', 1, 'e2-standard-4', 'n1-'),
  jobFile('module: a.b\nmachine: n1-standard-5\n', 1, 'n1-standard-5', /n1-standard-[48]/),
  jobFile('module: a.b\nmachine: ml.p3.2xlarge\n', 1, 'ml.p3.2xlarge', 'AWS'),
  jobFile('module: a.b\nmachine: p3.2xlarge\n', 1, 'p3.2xlarge', 'AWS'),
  jobFile('module: a.b\nmachine: Standard_NC6s_v3\n', 1, 'Standard_NC6s_v3', 'Azure'),
  jobFile(`${GOOD}disk: 200 GB\n`, 0, 'valid'),
  jobFile(`${GOOD}disk: 200GB\n`, 0, 'valid'),
  jobFile(`${GOOD}disk: 200Gi\n`, 0, 'valid'),
  jobFile(`${GOOD}disk: 1 TB\n`, 0, 'valid'),
  jobFile(`${GOOD}disk: 50\n`, 1, '100 to 64000 GiB', /at least|100/),
  jobFile(`${GOOD}maxRuntime: 2h\n`, 0, 'valid'),
  jobFile(`${GOOD}maxRuntime: 2 hours\n`, 1, '"2 hours"', '12h'),
  jobFile(`${GOOD}maxRuntime: 120m\n`, 0, 'valid'),
  jobFile(`${GOOD}maxRuntime: "2:00:00"\n`, 1, '2h'),
  jobFile(`${GOOD}maxRuntime: forever\n`, 1, 'forever', '2h'),
  jobFile(`${GOOD}spot: yes\n`, 1, 'yes', 'true or false'),
  jobFile(`${GOOD}spot: "true"\n`, 0, 'Spot'),
  jobFile(`${GOOD}preemptible: true\n`, 1, 'preemptible', 'spot'),
  jobFile(`${GOOD}name: My Job\n`, 1, 'My Job', 'My_Job'),
  jobFile(`${GOOD}name: my.job\n`, 1, 'my.job', 'my_job'),
  jobFile(`${GOOD}name: my-job\n`, 1, 'my-job', 'my_job'),
  jobFile(`${GOOD}workers: 3\n`, 0, /worker +3/),
  jobFile(`${GOOD}workers: {count: three}\n`, 1, 'three', 'integer'),
  jobFile(`${GOOD}workers: {count: "3"}\n`, 0, 'worker'),
  jobFile(`${GOOD}env: {LR: 0.1, DEBUG: true}\n`, 0, 'valid'),
  jobFile(`${GOOD}env: [LR=0.1]\n`, 1, 'env', 'mapping'),
  jobFile(`${GOOD}env: {GOOGLE-KEY: a}\n`, 1, 'GOOGLE-KEY', 'underscores'),
  jobFile(`${GOOD}secrets: {HF_TOKEN: hf_abcdefghijklmnopqrstuvwxyzABCDEFGH}\n`, 1, 'HF_TOKEN', 'name of a secret'),
  jobFile(`${GOOD}output: gs:/jobs/a\n`, 1, 'gs:/jobs/a', 'gs://jobs/a'),
  jobFile(`${GOOD}output: s3://jobs/a\n`, 1, 's3://jobs/a', 'gs://'),
  jobFile(`${GOOD}output: /tmp/out\n`, 1, '/tmp/out', 'gs://'),
  jobFile(`${GOOD}output: https://storage.googleapis.com/jobs/a\n`, 1, 'gs://jobs/a'),
  jobFile('image: pytroch/pytorch:latest:gpu\nmachine: n1-standard-4\n', 1, 'image'),
  jobFile('image: https://ghcr.io/o/digits:1\nmachine: n1-standard-4\n', 1, 'https://', 'ghcr.io/o/digits:1'),
  jobFile('image: Dockerfile\nmachine: n1-standard-4\n', 1, 'Dockerfile', 'docker build'),
  jobFile('image: gcr.io/p/My-Image:1\nmachine: n1-standard-4\n', 1, 'My-Image', 'lowercase'),
  jobFile('module: a.b\nimage: python:3.12\nmachine: n1-standard-4\n', 0, 'python:3.12', 'valid'),
  jobFile('trainingInput:\n  scaleTier: GPU\n  region: us-central1\n', 1, 'GPU', 'BASIC_GPU'),
  jobFile('trainingInput:\n  scaleTier: CUSTOM\n  region: us-central1\n', 1, 'masterType'),
]);
