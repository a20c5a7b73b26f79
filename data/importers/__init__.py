"""Importers: each reads one file, as its tool writes it, into drafts of runs in the native form."""
