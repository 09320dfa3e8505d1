"""Runs Muster as a service for tests. Copy this file into your project."""

import json
import os
import shlex
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import boto3

START_LIMIT = 60  # seconds


class Muster:
    """A service on ports of its own. The binary is muster on the PATH, or the one that MUSTER names."""

    def __init__(self, *flags):
        self._dir = tempfile.TemporaryDirectory()
        env_file, log = os.path.join(self._dir.name, "muster.env"), os.path.join(self._dir.name, "log")
        command = [os.environ.get("MUSTER", "muster"), "dev", "--test", "--quiet", "--env-file", env_file]
        command += ["--listen", "127.0.0.1:0", "--gateway-listen", "127.0.0.1:0", *flags]
        with open(log, "w") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=out)
        end = time.monotonic() + START_LIMIT
        while not os.path.exists(env_file):  # which it writes when it is ready
            if self._process.poll() is not None or time.monotonic() > end:
                with open(log) as lines:
                    text = lines.read()
                self.stop()
                raise RuntimeError("muster did not start: " + text)
            time.sleep(0.02)
        with open(env_file) as lines:  # export NAME=VALUE
            self.env = dict(shlex.split(line)[1].split("=", 1) for line in lines)

    def stop(self):
        """End the service. Its data is removed."""
        self._process.terminate()
        self._process.wait()
        self._dir.cleanup()

    def client(self, service="gamelift"):
        """Return a boto3 client."""
        return boto3.client(
            service,
            endpoint_url=self.env["MUSTER_HTTP_URL"],
            region_name=self.env["AWS_REGION"],
            aws_access_key_id=self.env["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.env["AWS_SECRET_ACCESS_KEY"],
        )

    def test(self, path="", method="POST", **body):
        """Make a request below /v1/test and return its answer."""
        url, data = self.env["MUSTER_HTTP_URL"] + "/v1/test" + path, json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data, method=method)) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["message"]) from None
