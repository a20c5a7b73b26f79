"""What a person sees: pages, charts, the command line and exports."""
