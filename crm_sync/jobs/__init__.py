"""The row is the queue: claims, the one loop, the SQL of both, the doorbell. No model of ours."""
