"""Runs AWS CLI commands, each in a fork of a process that has loaded the CLI.

Loading is most of the time of a short command. `cli_server.py DIRECTORY` makes
the program `aws` in the directory, prints a line, and serves until its standard
input ends; then it removes the directory. `aws` runs a command as
`python -m awscli` does, with its own arguments, environment, working directory
and standard files. The CLI reads HOME while it loads: a command with another
home directory than this process is run by a Python of its own.
"""

import contextlib
import gc
import io
import json
import os
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time

from awscli.clidriver import create_clidriver, main

models = os.environ["AWS_DATA_PATH"]  # set by importing awscli


def load():
    """Loads what commands import late."""
    driver = create_clidriver()
    with contextlib.redirect_stdout(io.StringIO()):
        driver.main(["gamelift", "list-fleets", "--generate-cli-skeleton"])
    driver.session.create_client("gamelift", "us-east-1", endpoint_url="http://localhost")
    gc.collect()
    gc.freeze()


def run(connection):
    """Runs the command that a client sent and sends its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, files, _, _ = socket.recv_fds(connection, 1, 3)
    request = json.loads(connection.makefile("rb").readline())
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["directory"])
    arguments, environ = request["arguments"], request["environ"]
    if environ.get("HOME") == os.environ.get("HOME"):
        status = run_here(arguments, environ)
    else:
        status = subprocess.call([sys.executable, "-m", "awscli", *arguments], env=environ)
    connection.sendall(bytes([status or 0]))


def run_here(arguments, environ):
    """Runs a command in this process and returns its exit status."""
    os.environ.clear()
    os.environ.update(environ, AWS_DATA_PATH=models)
    time.tzset()
    sys.argv = ["aws", *arguments]
    try:
        status = main()
    except SystemExit as end:
        status = end.code
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def serve(directory):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(directory, "socket"))
    listener.listen(64)
    client = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cli_client.py")
    program = os.path.join(directory, "aws")
    with open(program, "w") as file:
        command = shlex.join([sys.executable, "-I", "-S", client, listener.getsockname()])
        file.write(f'#!/bin/sh\nexec {command} "$@"\n')
    os.chmod(program, 0o700)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system removes commands that have ended
    print("ready", flush=True)
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            try:
                listener.close()
                run(connection)
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(1)
        connection.close()


directory = sys.argv[1]
try:
    load()
    serve(directory)
finally:
    shutil.rmtree(directory)
