"""A Diagnosis as text, Markdown or JSON. Knows no rule and no host; prints nothing itself."""
