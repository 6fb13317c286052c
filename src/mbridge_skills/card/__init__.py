"""The card of a skill: reading it with positions, checking it against its schema, writing it back."""
