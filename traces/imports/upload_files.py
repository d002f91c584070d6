"""The files of a form in one temporary file: any number of them takes one descriptor, and little memory."""

import io
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final

from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler

from traces.reading.sections import Section

_IN_MEMORY: Final = 16 * 1024 * 1024


class SharedFileHandler(FileUploadHandler):
    """Appends every file of a request to the same temporary file."""

    def __init__(self, request: Any = None) -> None:
        super().__init__(request)
        self._shared: _Shared | None = None
        self._start = 0

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        if self._shared is None:
            self._shared = _Shared()
        self._start = self._shared.file.seek(0, io.SEEK_END)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        if self._shared is not None:
            self._shared.file.write(raw_data)

    def file_complete(self, file_size: int) -> "UploadedFile[bytes] | None":
        if self._shared is None:
            return None
        part = io.BufferedReader(_Part(self._shared, self._start, file_size))
        return UploadedFile(part, self.file_name, self.content_type, file_size, self.charset, self.content_type_extra)

    def upload_interrupted(self) -> None:
        if self._shared is not None:
            self._shared.file.close()


class _Shared:
    """The temporary file of a request; it is closed with the last of its parts."""

    def __init__(self) -> None:
        self.file: IO[bytes] = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  # its parts close it
        self._parts = 0

    def opened(self) -> None:
        self._parts += 1

    def closed(self) -> None:
        self._parts -= 1
        if not self._parts:
            self.file.close()


class _Part(Section):
    """One file: a stretch of the shared one, which is closed with the last of them."""

    def __init__(self, shared: _Shared, start: int, size: int) -> None:
        super().__init__(shared.file, start, size)
        self._shared = shared
        shared.opened()

    def close(self) -> None:
        if not self.closed:
            self._shared.closed()
        super().close()
