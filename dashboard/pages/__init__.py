"""The pages: `app` is the main script; a page has a room with its script, of its name, and what it draws.

Nothing but a page imports from its room; what two pages share is in `shell`.
"""
