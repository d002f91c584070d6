"""The two distributions, built and installed as users install them."""
