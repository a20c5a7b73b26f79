"""The pages: `app` is the main script; each page has a room with its script, of the same name, and what it draws.

Nothing but a page imports from its room; what two pages share is in `shell`.
"""
