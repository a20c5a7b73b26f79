"""The commands on a system in use: live tests of versions on its users."""
