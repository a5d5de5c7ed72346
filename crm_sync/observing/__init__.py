"""Monitoring for operators: the health pages and the figures for Prometheus."""
