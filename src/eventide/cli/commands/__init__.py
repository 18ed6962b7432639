"""The commands: one file each. Importing a file attaches its command to the application."""
