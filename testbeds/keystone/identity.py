"""Keystone's WSGI application for gunicorn. Its configuration comes by the environment (OS_KEYSTONE_CONFIG_FILES).

Keystone's configuration library reads the arguments of the process, where gunicorn's own stand: they are hidden first.
"""

import sys

sys.argv = ["keystone"]

from keystone.server.wsgi import initialize_public_application  # noqa: E402 (after the arguments are hidden)

application = initialize_public_application()
