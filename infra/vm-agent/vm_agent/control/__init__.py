"""The replica's lifecycle: configuration, heartbeats, reasons to stop, supervision and persistent state."""
