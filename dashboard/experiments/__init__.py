"""How each kind of experiment is shown: its conclusion and its parts, made once for every screen and file."""
