"""Tables from files and from memory, labelled, and checked once where they enter."""
