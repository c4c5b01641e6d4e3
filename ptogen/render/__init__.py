"""From plans to text: one file a target."""
