"""The command line's own help, word for word: what `falsezero COMMAND --help` prints."""

import click
from docutils import nodes
from docutils.parsers.rst import Directive

from falsezero.cli import commands

_WIDTH = 88


def help_of(command, name, parent=None):
    """What the command prints when it is asked for help."""
    settings = command.context_settings | {
        "max_content_width": _WIDTH,
        "terminal_width": _WIDTH,
    }
    return command.get_help(
        click.Context(command, info_name=name, parent=parent, **settings)
    )


class CommandLineHelp(Directive):
    """One section a command."""

    def run(self):
        """The group's help first, then each command's."""
        context = click.Context(commands, info_name="falsezero")
        sections = [_literal(help_of(commands, "falsezero"))]
        for name in commands.list_commands(context):
            section = nodes.section(ids=[nodes.make_id(f"falsezero {name}")])
            section += nodes.title(text=f"falsezero {name}")
            section += _literal(
                help_of(commands.get_command(context, name), name, context)
            )
            sections.append(section)
        return sections


def _literal(text):
    return nodes.literal_block(text, text, language="text")


def setup(app):
    """Offer the directive under the name `cli-help`."""
    app.add_directive("cli-help", CommandLineHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
