"""The Present page: slides and documents of a run, shown and handed over."""
