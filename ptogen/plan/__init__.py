"""From a suite to plans."""
