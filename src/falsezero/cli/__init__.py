"""The command line: arguments to public calls, one file a command."""
