"""Has cli_server.py run an AWS CLI command: cli_client.py SOCKET ARGUMENT…"""

import json
import os
import socket
import sys

server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
socket.send_fds(server, [b"\0"], [0, 1, 2])
request = {"arguments": sys.argv[2:], "environ": dict(os.environ), "directory": os.getcwd()}
server.sendall(json.dumps(request).encode() + b"\n")
status = server.recv(1)
if not status:
    sys.exit("the server of the AWS CLI ended this command without a status")
os._exit(status[0])
