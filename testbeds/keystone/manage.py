"""Runs several commands of keystone-manage one after the other: `manage.py ARGUMENT.. [-- ARGUMENT..]..`.

Importing Keystone takes longer than what the commands do. Each runs in a child of its own, because Keystone's
configuration is one for the whole process. Ends with the first code that is not 0.
"""

import os
import sys
import traceback

from keystone.cmd import cli


def command(arguments):
    """The exit code of one command."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            sys.argv = ["keystone-manage", *arguments]
            code = cli.main(argv=sys.argv) or 0
        except SystemExit as end:
            if end.code is not None and not isinstance(end.code, int):
                print(end.code, file=sys.stderr)
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:  # what it printed is all that is left of it
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def main():
    """Runs what the arguments say."""
    commands = [[]]
    for argument in sys.argv[1:]:
        if argument == "--":
            commands.append([])
        else:
            commands[-1].append(argument)
    return next((code for code in map(command, commands) if code), 0)


if __name__ == "__main__":
    sys.exit(main())
