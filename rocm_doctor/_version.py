"""The version of this package: read by the build, by the command line and by every report."""

__version__ = "0.1.0"
