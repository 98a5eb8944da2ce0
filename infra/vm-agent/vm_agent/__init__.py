"""
The agent of a Dropforge VM: runs one replica of a training job, then powers the VM off.

A package imports only itself and the packages before it: http, logs, program, storage, setup, control. `main` is on top
of all. tests/test_imports.py enforces the order.
"""
