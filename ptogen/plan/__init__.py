"""From a suite to the plans of its cases."""
