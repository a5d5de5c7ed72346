"""What each release left behind, and that the product of today takes it over."""
