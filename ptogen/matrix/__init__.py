"""From a matrix to a tree: its combinations, those that exist, the suites they make, and all of it in parallel."""
