"""How each check suite is shown: sentence, tables, chart; a module a suite, named as in data."""
