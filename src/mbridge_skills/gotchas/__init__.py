"""Gotchas: what a configuration runs into, release by release. One Markdown file each, in the skill's
folder."""
