/** The code of a cause, and a part of its message or evidence. */
export type Failure = { readonly cause: string; readonly says: RegExp };

/** A public training package, and how its README runs it. */
export type RealProgram = {
  readonly repository: `${string}/${string}`;
  readonly commit: string;
  /** The folder of the repository that is exported; the submission runs in it. */
  readonly path: string;
  /** The words after `dropforge`; names in capitals, such as `JOB` and `BUCKET`, are replaced. */
  readonly submit: string;
  /** What the README asks for before the submission, as shell lines; run in the same folder. */
  readonly before?: string;
  readonly end: 'SUCCEEDED' | Failure;
  /** The end, where it differs, on a machine without network, or whose index of packages lacks one. */
  readonly offline?: Failure;
  /** Expected in the log of a program that succeeds. */
  readonly prints?: RegExp;
};

const CLOUD_SAMPLES = {
  repository: 'GoogleCloudPlatform/cloudml-samples',
  commit: 'efddc4a9898127e55edc0946557aca4bfaf59705',
} as const;
const AI_PLATFORM_SAMPLES = {
  repository: 'GoogleCloudPlatform/ai-platform-samples',
  commit: '09f667e39e9230c65fb9629f30ddf61cefeb7bd3',
} as const;
const VERTEX_SAMPLES = {
  repository: 'GoogleCloudPlatform/vertex-ai-samples',
  commit: 'cc0d791ef25a4f8a9bbd9b6c9ef4928b8b96c35a',
} as const;
const PYTORCH_EXAMPLES = {
  repository: 'pytorch/examples',
  commit: '77f55b912142e11fcfdf5b530231fb9c52f181e8',
} as const;
const LIGHTGBM = {
  repository: 'microsoft/LightGBM',
  commit: 'bae0b7ba953341a32b2a9c5c5c437a1b976f576f',
} as const;
const KERAS = { repository: 'keras-team/keras', commit: '3422977a5e38fb2f7709aaa9a08e47f0c43d0f60' } as const;
const JAX = { repository: 'google/jax', commit: '3bd8ca480a5ed0d88c19a821d53324759db0bc35' } as const;
const OPTUNA = { repository: 'optuna/optuna-examples', commit: '2e0b10bc54501e801687e114de3cbe1b6d2407dc' } as const;
const PYTORCH_TUTORIAL = {
  repository: 'yunjey/pytorch-tutorial',
  commit: '0500d3df5a2a8080ccfccbc00aca0eacc21818db',
} as const;

const train = 'jobs submit training JOB --region us-central1';

/** A program that downloads its data fails without network, and its cause says so. */
const NO_NETWORK = {
  cause: 'PROGRAM_FAILED',
  says: /resolv|urlopen error|unreachable|connection error|could not be read|getaddrinfo/i,
} as const;

/** At least 25, of every style: sdist, flat scripts, one file, pyproject, prebuilt image, deep script, old TensorFlow. */
export const REAL_PROGRAMS: readonly RealProgram[] = [
  {
    repository: 'GoogleCloudPlatform/training-data-analyst',
    commit: 'a3083130c24bbce167714c8630eaf21598c9c9a7',
    path: 'blogs/hparam',
    submit: `${train} --package-path trainer --module-name trainer.flow -- --x12 80 --x32 40 --flow 5`,
    end: 'SUCCEEDED',
  },
  {
    repository: 'GoogleCloudPlatform/ml-on-gcp',
    commit: '5f75c8c715f913102d18a2d19233a21fa1992813',
    path: 'gce/survival-training',
    submit: `${train} --package-path wrapper --module-name wrapper.train -- --checkpoint-steps 10 --train-steps 30 --hyperparameter-1 5 --hyperparameter-2 0.1`,
    end: 'SUCCEEDED',
  },
  {
    repository: 'CodeReclaimers/neat-python',
    commit: '0b92b9d0c239c5896544e8c87521d0eba4ced0e2',
    path: '.',
    submit: `${train} --package-path . --module-name examples/xor/evolve-minimal.py`,
    end: 'SUCCEEDED',
    prints: /Best genome/,
  },
  {
    repository: 'joelgrus/joelnet',
    commit: '65cbc3ff169855d801416d629d290c44c95d001d',
    path: '.',
    submit: `${train} --package-path . --module-name xor`,
    end: 'SUCCEEDED',
    prints: /^4999 /,
  },
  {
    repository: 'nicodjimenez/lstm',
    commit: 'a2f2e99cb48acee421d5ba3a084af63131da10c6',
    path: '.',
    submit: `${train} --package-path . --module-name test`,
    end: 'SUCCEEDED',
    prints: /^iter 99/,
  },
  {
    repository: 'daniiomir/ft_linear_regression',
    commit: '05ad90e6f14bfd8a1a6b89140a9ba0fe5c14b80f',
    path: '.',
    submit: `${train} --package-path . --module-name fit`,
    end: 'SUCCEEDED',
  },
  {
    repository: 'yuhsinliu1993/LogisticRegression',
    commit: '4bc430a4bf76486cf3c64888564d0f4408bcda22',
    path: '.',
    submit: `${train} --package-path . --module-name logistic_regression -- -i 2000`,
    end: 'SUCCEEDED',
  },
  {
    repository: 'arclabs561/runctl',
    commit: '38258ae7760d2132f3a0fabac0965e4199a20cc3',
    path: 'examples',
    submit: `${train} --package-path . --module-name test_training_script -- 3`,
    end: 'SUCCEEDED',
  },
  {
    repository: 'karpathy/makemore',
    commit: '988aa59e4d8fefa526d06f3b453ad116258398d4',
    path: '.',
    submit: `${train} --package-path . --module-name makemore -- -i names.txt -o names --max-steps 30`,
    end: 'SUCCEEDED',
    prints: /^step 20 /,
  },
  {
    repository: 'karpathy/minGPT',
    commit: '37baab71b9abea1b76ab957409a1cc2fbfba8a26',
    path: '.',
    submit: `${train} --package-path . --module-name projects/adder/adder.py -- --trainer.max_iters=20 --data.ndigit=1`,
    end: 'SUCCEEDED',
    prints: /train loss/,
  },
  {
    repository: 'karpathy/nanoGPT',
    commit: '3adf61e154c3fe3fca428ad6bc3818b27a3b8291',
    path: '.',
    // The README's download, from a text that is here.
    before:
      'cat README.md model.py train.py > data/shakespeare_char/input.txt\nIMAGE_PYTHON data/shakespeare_char/prepare.py',
    submit: `${train} --package-path . --module-name train -- config/train_shakespeare_char.py --device=cpu --compile=False --eval_iters=2 --log_interval=1 --block_size=64 --batch_size=12 --n_layer=4 --n_head=4 --n_embd=128 --max_iters=20 --lr_decay_iters=2000 --dropout=0.0`,
    end: 'SUCCEEDED',
    prints: /^iter 20: loss/,
  },
  {
    repository: 'msyvr/micrograd-python',
    commit: 'e9572d1777dc13eac1fbe658c677589d76fa376d',
    path: '.',
    submit: `${train} --package-path . --module-name src/micrograd/train.py`,
    end: 'SUCCEEDED',
    // requirements.txt has a version of every package of its author's environment.
    offline: { cause: 'INSTALL_FAILED', says: /contourpy==1\.3\.0/ },
  },
  {
    repository: 'eriklindernoren/ML-From-Scratch',
    commit: 'a2806c6732eee8d27762edd6d864e0c179d8e9e8',
    path: '.',
    submit: `${train} --package-path . --module-name mlfromscratch.examples.genetic_algorithm`,
    // setup.py requires sklearn, a name that PyPI has only to report that it is scikit-learn.
    end: { cause: 'INSTALL_FAILED', says: /requirement sklearn/ },
  },
  {
    ...PYTORCH_EXAMPLES,
    path: 'regression',
    submit: `${train} --package-path . --module-name main`,
    end: 'SUCCEEDED',
    prints: /Learned function/,
  },
  {
    ...PYTORCH_EXAMPLES,
    path: 'time_sequence_prediction',
    before: 'IMAGE_PYTHON generate_sine_wave.py',
    submit: `${train} --package-path . --module-name train -- --steps 1`,
    end: 'SUCCEEDED',
    offline: { cause: 'INSTALL_FAILED', says: /torch<2\.6/ },
  },
  {
    ...PYTORCH_EXAMPLES,
    path: 'mnist',
    submit: `${train} --package-path . --module-name main -- --epochs 1`,
    end: 'SUCCEEDED',
    offline: NO_NETWORK,
  },
  {
    ...LIGHTGBM,
    path: 'examples',
    submit: `${train} --package-path . --module-name python-guide/simple_example.py`,
    end: 'SUCCEEDED',
    prints: /RMSE of prediction/,
  },
  {
    ...LIGHTGBM,
    path: 'examples',
    submit: `${train} --package-path . --module-name python-guide/sklearn_example.py`,
    end: 'SUCCEEDED',
    prints: /Best parameters/,
  },
  {
    ...KERAS,
    path: 'examples',
    submit: `${train} --package-path demo_mnist_convnet.py --module-name demo_mnist_convnet`,
    end: 'SUCCEEDED',
    offline: NO_NETWORK,
  },
  {
    ...KERAS,
    path: 'examples',
    submit: `${train} --package-path demo_custom_layer_backend_agnostic.py --module-name demo_custom_layer_backend_agnostic`,
    end: 'SUCCEEDED',
  },
  {
    ...JAX,
    path: 'examples',
    submit: `${train} --package-path kernel_lsq.py --module-name kernel_lsq`,
    end: 'SUCCEEDED',
  },
  {
    ...JAX,
    path: 'examples',
    submit: `${train} --package-path gaussian_process_regression.py --module-name gaussian_process_regression`,
    end: 'SUCCEEDED',
  },
  {
    ...OPTUNA,
    path: 'sklearn',
    submit: `${train} --package-path sklearn_simple.py --module-name sklearn_simple`,
    end: 'SUCCEEDED',
    prints: /Trial/,
  },
  {
    ...OPTUNA,
    path: 'lightgbm',
    submit: `${train} --package-path lightgbm_simple.py --module-name lightgbm_simple`,
    end: 'SUCCEEDED',
    offline: { cause: 'INSTALL_FAILED', says: /scikit-learn<1\.6\.0/ },
    prints: /Best trial/,
  },
  {
    ...PYTORCH_TUTORIAL,
    path: 'tutorials/01-basics/linear_regression',
    submit: `${train} --package-path main.py --module-name main`,
    end: 'SUCCEEDED',
    prints: /Epoch \[60\/60\]/,
  },
  {
    repository: 'Lightning-AI/pytorch-lightning',
    commit: '7f0c3436cd3f6ad3753125672024fc415cbcb414',
    path: 'examples/pytorch/bug_report',
    submit: `${train} --package-path bug_report_model.py --module-name bug_report_model`,
    end: 'SUCCEEDED',
  },
  {
    ...AI_PLATFORM_SAMPLES,
    path: 'quickstart',
    submit:
      'jobs submit training JOB --job-dir=gs://BUCKET/JOB/model --runtime-version=2.8 --region=us-central1 --scale-tier=BASIC --module-name=trainer.task --package-path=./trainer --python-version=3.7 -- gs://BUCKET/JOB/model',
    // setup.py pins tensorflow==2.8.0, which no Python of today can install.
    end: { cause: 'INSTALL_FAILED', says: /tensorflow==2\.8\.0/ },
  },
  {
    ...AI_PLATFORM_SAMPLES,
    path: 'training/pytorch/structured/python_package',
    before: 'IMAGE_PYTHON TAXI_DATA > taxi.csv\nDROPFORGE cp taxi.csv gs://BUCKET/taxi.csv',
    submit:
      'jobs submit training JOB --region us-central1 --master-image-uri gcr.io/cloud-ml-public/training/pytorch-cpu.1-4 --scale-tier BASIC --job-dir gs://BUCKET/JOB/models --module-name trainer.task --package-path ./trainer -- --train-files gs://BUCKET/taxi.csv --eval-files gs://BUCKET/taxi.csv --num-epochs 1 --batch-size 100 --learning-rate 0.001',
    end: 'SUCCEEDED',
  },
  {
    ...CLOUD_SAMPLES,
    path: 'tensorflow/standard/iris',
    submit:
      'jobs submit training JOB --stream-logs --runtime-version 1.13 --job-dir gs://BUCKET/JOB --module-name trainer.task --package-path trainer/ --region us-central1 -- --train-file gs://cloud-samples-data/ml-engine/iris/iris_training.csv --eval-file gs://cloud-samples-data/ml-engine/iris/iris_test.csv --train-steps 1000 --eval-steps 100',
    end: { cause: 'REJECTED', says: /TensorFlow 1|tf\.compat\.v1/ },
  },
  {
    ...CLOUD_SAMPLES,
    path: 'pytorch/containers/published_container',
    before: [
      'tar -zcvf sonar.tar.gz sonar_training/',
      'DROPFORGE cp sonar.tar.gz gs://BUCKET/sonar.tar.gz',
      'printf "trainingInput:\\n  scaleTier: BASIC\\n  masterConfig:\\n    imageUri: gcr.io/cloud-ml-public/training/pytorch-cpu.1-4\\n" > config.yaml',
    ].join('\n'),
    submit:
      'jobs submit training JOB --region us-central1 --config=config.yaml -- --module_name=trainer.task --package_uris=gs://BUCKET/sonar.tar.gz --model-dir=BUCKET --epochs=1',
    end: 'SUCCEEDED',
    offline: NO_NETWORK,
  },
  {
    ...AI_PLATFORM_SAMPLES,
    path: 'training/tensorflow/census/tf-keras',
    submit:
      'jobs submit training JOB --package-path trainer/ --module-name trainer.task --region us-central1 --python-version 3.7 --runtime-version 2.1 --job-dir gs://BUCKET/keras-job-dir --stream-logs -- --train-steps=1000 --eval-steps=100',
    // requirements.txt beside the package pins numpy==1.22.3, which has no wheel for the Python of today.
    end: { cause: 'INSTALL_FAILED', says: /numpy==1\.22\.3/ },
  },
  {
    ...VERTEX_SAMPLES,
    path: 'community-content/pytorch_text_classification_using_vertex_sdk_and_gcloud/python_package',
    submit:
      'custom-jobs create --display-name=JOB --region us-central1 --worker-pool-spec=replica-count=1,machine-type=n1-standard-8,accelerator-type=NVIDIA_TESLA_V100,accelerator-count=1,executor-image-uri=us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.1-7:latest,python-module=trainer.task,local-package-path=../python_package/ --args=--model-name,finetuned-bert-classifier,--job-dir,gs://BUCKET/JOB',
    // setup.py requires datasets without a version, and today's has no load_metric.
    end: { cause: 'IMPORT_FAILED', says: /datasets has no load_metric/ },
  },
  {
    ...VERTEX_SAMPLES,
    path: 'community-content/pytorch_image_classification_distributed_data_parallel_training_with_vertex_sdk',
    // Its data lie beside the code, where torchvision finds them. Its pins contradict each other, and are left out.
    before: 'rm requirements.txt trainer/requirements.txt\nIMAGE_PYTHON MNIST_DATA tmp/data/MNIST/raw',
    submit:
      'custom-jobs create --display-name=JOB --region us-central1 --worker-pool-spec=replica-count=1,machine-type=n1-standard-4,executor-image-uri=us-docker.pkg.dev/vertex-ai/training/pytorch-xla.1-11:latest,local-package-path=.,python-module=trainer.task --worker-pool-spec=replica-count=1,machine-type=n1-standard-4,executor-image-uri=us-docker.pkg.dev/vertex-ai/training/pytorch-xla.1-11:latest,local-package-path=.,python-module=trainer.task --args=--epochs=2,--no-cuda',
    end: 'SUCCEEDED',
    prints: /^Epoch: 2\/2, train loss/,
  },
];
