"""Rows of results, intervals, tables and figures."""
