"""What operators watch: the health pages and the figures for Prometheus."""
