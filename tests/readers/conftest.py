import pytest

from mbridge_skills.readers import read_text


def values(config):
    """The settings of a view as plain data."""
    return {path: setting.value for path, setting in config.settings.items()}


@pytest.fixture
def settings_of():
    """Read ``text`` of a kind that gives one configuration; gives its settings as plain data."""

    def read(kind, text):
        (config,) = read_text(kind, text)
        return values(config)

    return read


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """A folder that must stay empty: what an input would do if it were executed shows in it."""
    folder = tmp_path / "canary"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield folder / "file"
    assert not list(folder.iterdir())
