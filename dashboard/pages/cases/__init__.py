"""The Cases page: filters, the open case, labelling."""
