import pytest

from mbridge_skills.checking.suppression import is_suppressed


@pytest.mark.parametrize(
    ("text", "line", "silenced"),
    [
        ("cfg.x = 1  # skill: ignore[MB101] converted by hand\n", 1, True),
        ("cfg.x = 1  # skill: ignore[MB204, mb101] converted by hand\n", 1, True),
        ("# skill: ignore[MB101] converted by hand\ncfg.x = 1\n", 2, True),
        ("--flag  # skill: ignore[MB101] no save here\n", 1, True),
        # Without a reason, for another code, or elsewhere: it counts for nothing.
        ("cfg.x = 1  # skill: ignore[MB101]\n", 1, False),
        ("cfg.x = 1  # skill: ignore[MB102] a reason\n", 1, False),
        ("cfg.x = 1  # skill: ignore MB101 a reason\n", 1, False),
        ("cfg.y = 1  # skill: ignore[MB101] a reason\ncfg.x = 1\n", 2, False),
        ("cfg.x = 1\n# skill: ignore[MB101] a reason\n", 1, False),
        ("cfg.x = 1\n", 1, False),
        ("cfg.x = 1\n", 9, False),
    ],
)
def test_comment(tmp_path, text, line, silenced):
    path = tmp_path / "train.py"
    path.write_text(text)
    assert is_suppressed("MB101", path, line) is silenced


def test_no_place(tmp_path):
    assert not is_suppressed("MB101", None, 1)
    assert not is_suppressed("MB101", tmp_path / "gone.py", 1)
    assert not is_suppressed("MB101", tmp_path, None)
