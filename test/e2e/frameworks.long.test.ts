import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CloudUnderTest, jobFile, packFiles, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';

const INSTALL_MS_MAX = 170_000;

/** A program as written for AI Platform: the framework in install_requires, outputs in --job-dir. */
function packTrainer(jobId: string, requirement: string, program: string): Promise<Uint8Array> {
  return packFiles({
    'pkg/setup.py': `from setuptools import find_packages, setup\nsetup(name='pkg', version='1', packages=find_packages(), install_requires=['${requirement}'])\n`,
    'pkg/trainer/__init__.py': '',
    'pkg/trainer/task.py': program,
    'pkg/job.json': JSON.stringify(jobFile(jobId)),
  });
}

const SCIKIT_LEARN = `
import argparse, os
import joblib
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
parser = argparse.ArgumentParser()
parser.add_argument('--job-dir')
args = parser.parse_args()
digits = load_digits()
model = LogisticRegression(max_iter=100).fit(digits.data, digits.target)
os.makedirs(args.job_dir, exist_ok=True)
joblib.dump(model, os.path.join(args.job_dir, 'model.joblib'))
print(f'score {model.score(digits.data, digits.target):.2f}')
`;

import { leaveOut } from '../support/run/leave-out.ts';

const TORCH = `
import argparse, os
import torch
parser = argparse.ArgumentParser()
parser.add_argument('--job-dir')
args = parser.parse_args()
torch.manual_seed(0)
x = torch.linspace(-1, 1, 200).unsqueeze(1)
y = 3 * x + 1
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
for step in range(200):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
torch.save(model.state_dict(), os.path.join(args.job_dir, 'model.pt'))
print(f'score {1 - loss.item():.2f}')
`;

const FRAMEWORKS = [
  { requirement: 'scikit-learn', jobId: 'with_sklearn', program: SCIKIT_LEARN, output: 'model.joblib' },
  { requirement: 'torch', jobId: 'with_torch', program: TORCH, output: 'model.pt' },
];

/** Whether pip can install it here: from an index, from a folder of wheels, or because it is already installed. */
function isInstallable(requirement: string): boolean {
  const pip = ['-m', 'pip', 'install', '--dry-run', '--no-deps', '--quiet', '--retries', '0', '--timeout', '3'];
  try {
    execFileSync('python3', [...pip, requirement], { stdio: 'ignore', timeout: 30_000 });
    return true;
  } catch {
    return false;
  }
}

const installable = FRAMEWORKS.filter(({ requirement }) => isInstallable(requirement));

if (installable.length < FRAMEWORKS.length) {
  const missing = FRAMEWORKS.filter((framework) => !installable.includes(framework)).map(
    ({ requirement }) => requirement,
  );
  leaveOut(`${missing.join(' and ')} from a pip index`, 'packages that require them');
}

describe('a package whose requirements come from an index', () => {
  let cloud: CloudUnderTest;

  beforeAll(async () => {
    cloud = await startCloudUnderTest();
  });

  afterAll(() => cloud.stop());

  it.each(installable)(
    'trains with $requirement and saves its model',
    async ({ requirement, jobId, program, output }) => {
      await cloud.upload(`${jobId}.tar.gz`, await packTrainer(jobId, requirement, program));

      const job = await cloud.awaitJob(jobId, undefined, INSTALL_MS_MAX);

      expect(job.state, JSON.stringify(job.cause)).toBe('SUCCEEDED');
      expect(await cloud.readObject(cloud.endpoints.jobsBucket, `${jobId}/${output}`)).toBeDefined();
      const scores = (await cloud.readLog(jobId)).filter(({ text }) => /^score (0\.9|1\.0)/.test(text));
      expect(scores).toHaveLength(1);
    },
  );

  it('fails with INSTALL_FAILED that names the requirement no index has', async () => {
    const jobId = 'with_nothing';
    await cloud.upload(`${jobId}.tar.gz`, await packTrainer(jobId, 'no-such-framework-anywhere', 'print(1)\n'));

    const job = await cloud.awaitJob(jobId, undefined, INSTALL_MS_MAX);

    expect(job).toMatchObject({ state: 'FAILED', cause: { code: 'INSTALL_FAILED' } });
    expect(job.cause?.message).toContain('no-such-framework-anywhere');
  });
});
