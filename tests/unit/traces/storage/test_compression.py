from concurrent.futures import ThreadPoolExecutor

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from traces.storage.compression import FAST, SMALL, BrokenFrame, compress, decompress


@given(st.binary(max_size=4_000), st.sampled_from((FAST, SMALL)))
def test_decompressed_bytes_are_those_that_were_compressed(data: bytes, level: int) -> None:
    assert decompress(compress(data, level=level)) == data
    assert decompress(memoryview(compress(data, level=level))) == data


def test_threads_compress_at_the_same_time() -> None:
    texts = [bytes([n]) * 200_000 for n in range(64)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: decompress(compress(text)), texts)) == texts


@pytest.mark.parametrize("frame", [b"", b"no frame", compress(b"parcel " * 50)[:-5]])
def test_broken_frame_is_refused(frame: bytes) -> None:
    with pytest.raises(BrokenFrame):
        decompress(frame)


def test_frame_without_a_size_is_limited() -> None:
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(10_000))
    assert decompress(frame, max_size=10_000) == bytes(10_000)
    with pytest.raises(BrokenFrame):
        decompress(frame, max_size=9_000)
