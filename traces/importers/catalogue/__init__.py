"""All formats that can be imported, by what writes them."""
