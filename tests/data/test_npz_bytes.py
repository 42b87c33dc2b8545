"""Arrays as the content of a file, however the writing ends."""

import io
import zipfile

import numpy as np
import pytest

from falsezero.data.output import npz_bytes


@pytest.mark.parametrize("compressed", [False, True])
def test_what_goes_in_comes_out(compressed):
    arrays = {"some": np.arange(5), "names": np.array(["é", "b"])}
    with np.load(io.BytesIO(npz_bytes(arrays, compressed=compressed))) as archive:
        assert sorted(archive.files) == ["names", "some"]
        np.testing.assert_array_equal(archive["some"], arrays["some"])
        np.testing.assert_array_equal(archive["names"], arrays["names"])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_while_a_member_is_closed_is_ctrl_c(monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(zipfile._ZipWriteFile, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        npz_bytes({"some": np.arange(5)})


def test_other_errors_stay_what_they_are():
    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise ValueError("no array")

    with pytest.raises(ValueError, match="no array"):
        npz_bytes({"some": Broken()})
