"""Coverage-guided fuzzing of all that reads what a host or a file says; see README.md beside this file. Not part of the package."""
