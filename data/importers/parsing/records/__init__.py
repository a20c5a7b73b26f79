"""What importers of tools make records from: values in a shape, ids and repeats, gold given as texts."""
