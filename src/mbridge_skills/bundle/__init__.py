"""The bundle: skills, their cards and documents, and where they lie."""
