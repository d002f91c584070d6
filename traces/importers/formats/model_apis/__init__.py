"""Calls of model APIs whose requests and answers have a form of their own, as the other APIs have them."""
