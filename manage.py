#!/usr/bin/env python
"""Django's command line."""

from config.command_line import main

if __name__ == "__main__":
    main()
