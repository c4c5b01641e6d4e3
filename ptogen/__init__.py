"""ptogen: planned, checked and executed PTO kernels from a short YAML spec."""

__version__ = "0.1.0"
