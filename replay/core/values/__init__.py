"""Values as they are stored: read at their first use, compared with outputs, written as JSON."""
