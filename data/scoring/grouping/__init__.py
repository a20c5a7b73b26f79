"""How the samples of a run are grouped: by recorded field or tag, and by the language of their texts."""
