"""What every page stands in: the URL selection, the session's view, the user, common components."""
