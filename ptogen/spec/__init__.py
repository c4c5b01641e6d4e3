"""The spec language: what a person writes, read into suites with the place of every value."""

from ptogen.spec.load import load

__all__ = ["load"]
