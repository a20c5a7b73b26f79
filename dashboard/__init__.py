"""What a person sees: pages, charts, the command line and exports."""

__all__ = ["__version__"]

__version__ = "0.1.0"
