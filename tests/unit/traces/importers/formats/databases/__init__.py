"""Tests of databases in which frameworks store what their agents do."""
