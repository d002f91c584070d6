"""Sessions of agents for terminals and editors: Crush, Qwen Code, Cursor, Amazon Q, Droid, Zed, Amp and others."""
