"""How each check suite is shown: sentence, tables, chart; named as in data, lists of items in one."""
