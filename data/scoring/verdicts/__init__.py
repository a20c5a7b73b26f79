"""What people and the judge said of attacks since the import, applied to a scored run as it is read."""
