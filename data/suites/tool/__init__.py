"""The suite of tool calls: calls as recorded, the rule that decides them, what they amount to, repeats."""
