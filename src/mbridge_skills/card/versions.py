"""Release specifiers, as cards use them."""

from __future__ import annotations


def satisfies(specifier: str, version: str | None) -> bool | None:
    """Whether ``version`` satisfies the ``packaging`` specifier; None where the version is unknown.

    A pre-release counts as the release that it leads to (0.19.0rc0 as 0.19.0, 0.20.0.dev1+gabc as 0.20.0):
    upstream's candidates already behave like the release, while PEP 440 by itself sorts them before it. What
    is no PEP 440 version (a git hash, "unknown") is unknown.

    Raises:
        packaging.specifiers.InvalidSpecifier: ``specifier`` is none.
    """
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    wanted = SpecifierSet(specifier)
    if version is None:
        return None
    try:
        parsed = Version(version)
    except InvalidVersion:
        return None
    if parsed.is_prerelease:
        parsed = Version(parsed.base_version)
    return wanted.contains(parsed, prereleases=True)


def specifier_problem(specifier: str) -> str | None:
    """What is wrong with a specifier; None where nothing is."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    expected = 'expected a release specifier like ">=0.19" or ">=0.16.1,<0.20"'
    try:
        parsed = SpecifierSet(specifier)
    except InvalidSpecifier:
        return f'{expected}, got "{specifier}"'
    if not specifier.strip():
        return f"{expected}, got an empty string"
    for part in parsed:
        try:
            pre_release = Version(part.version.removesuffix(".*")).is_prerelease
        except InvalidVersion:  # === takes any text
            return f'{expected}, got "{specifier}"'
        if pre_release:
            return f'{expected}: "{part}" names a pre-release, and a pre-release counts as its release'
    return None


def newest_last(versions: set[str]) -> list[str]:
    """Sorted by release; what is no version comes first, by name."""
    from packaging.version import InvalidVersion, Version

    def key(text: str) -> tuple[int, Version, str]:
        try:
            return (1, Version(text), text)
        except InvalidVersion:
            return (0, Version("0"), text)

    return sorted(versions, key=key)
