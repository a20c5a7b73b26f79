"""One module an outside file format; each turns a file into parsed runs."""
