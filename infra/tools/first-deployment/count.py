"""The program of `npm run first-deployment`: counts to a number, and resumes from the one that it has saved."""

import json
import os
import sys
import time
from pathlib import Path

saved = Path(os.environ['DROPFORGE_OUTPUT_DIR'], 'step.json')
start = json.loads(saved.read_text())['step'] if saved.exists() else 0
print('begins after step', start, flush=True)
for step in range(start + 1, int(sys.argv[1]) + 1):
    time.sleep(0.2)
    saved.with_suffix('.new').write_text(json.dumps({'step': step}))
    saved.with_suffix('.new').replace(saved)
    print('counted', step, flush=True)
