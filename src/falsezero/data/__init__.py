"""The door: tables from files and from memory, checked once and named."""
