"""Attribution: why the final answers differ, as far as the recordings alone can show. Pure."""
