"""Trains with one of the frameworks: `python -m programs.main fsdp2`."""

import importlib
import os
import sys

from programs import run

if __name__ == '__main__':
    os.environ.update({'CUDA_VISIBLE_DEVICES': '', 'JAX_PLATFORMS': 'cpu', 'TF_CPP_MIN_LOG_LEVEL': '3'})
    run.start()
    importlib.import_module(f'programs.{sys.argv[1]}').train(*sys.argv[2:])
