"""The commands of `ragtriage dataset`: made, read, checked, frozen, exported."""
