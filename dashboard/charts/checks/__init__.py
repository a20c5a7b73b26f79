"""Charts of the check suites: routes, attacks."""
