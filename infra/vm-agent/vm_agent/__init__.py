"""The agent of a Dropforge VM: runs one replica of a training job and leaves nothing behind."""
