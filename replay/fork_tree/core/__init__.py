"""Schemas and labels of the fork tree. Pure."""
