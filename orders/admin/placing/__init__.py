"""The pages for choosing, reviewing and placing an order, and the page of a placement."""
