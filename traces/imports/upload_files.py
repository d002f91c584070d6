"""Store all uploaded files of a form in one temporary file: one descriptor and little memory for any number."""

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
        self._shared_file: _SharedFile | None = None
        self._start = 0

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        if self._shared_file is None:
            self._shared_file = _SharedFile()
        self._start = self._shared_file.file.seek(0, io.SEEK_END)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        if self._shared_file is not None:
            self._shared_file.file.write(raw_data)

    def file_complete(self, file_size: int) -> "UploadedFile[bytes] | None":
        if self._shared_file is None:
            return None
        part = io.BufferedReader(_Part(self._shared_file, self._start, file_size))
        return UploadedFile(part, self.file_name, self.content_type, file_size, self.charset, self.content_type_extra)

    def upload_interrupted(self) -> None:
        if self._shared_file is not None:
            self._shared_file.file.close()


class _SharedFile:
    """The temporary file of a request; it is closed with its last part."""

    def __init__(self) -> None:
        self.file: IO[bytes] = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  # its parts close it
        self._parts = 0

    def add_part(self) -> None:
        self._parts += 1

    def remove_part(self) -> None:
        self._parts -= 1
        if not self._parts:
            self.file.close()


class _Part(Section):
    """One uploaded file: a section of the shared file."""

    def __init__(self, shared_file: _SharedFile, start: int, size: int) -> None:
        super().__init__(shared_file.file, start, size)
        self._shared_file = shared_file
        shared_file.add_part()

    def close(self) -> None:
        if not self.closed:
            self._shared_file.remove_part()
        super().close()
