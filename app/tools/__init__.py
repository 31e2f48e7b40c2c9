"""The panels beyond the six views of a run: each explains, searches or compares what was recorded."""
