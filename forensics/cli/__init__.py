"""The command line: one small module a command. Nothing is imported here, so that ``--help`` starts at once."""
