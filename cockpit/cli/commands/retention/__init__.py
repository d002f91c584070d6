"""Commands that delete runs and bring them back."""
