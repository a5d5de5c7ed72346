"""The parts that the screens of every app are made of. No screen."""
