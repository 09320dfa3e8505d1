"""Calls the GameLift API with boto3, once per line of standard input.

A line is {"operation": "CreateFleet", "params": {...}}. An operation of another
service is written like sts.GetCallerIdentity. The answer is one line
too: {"result": {...}}, or {"error": "NotFoundException", "message": "...",
"status": 400} when the service refused. Endpoint, region and keys come from the
usual environment variables. The exit status is 1 when a call could not be made.
"""

import datetime
import json
import sys

import boto3
from botocore import xform_name
from botocore.exceptions import ClientError


def plain(value):
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    raise TypeError(f"cannot print a {type(value).__name__}")


def call(client, operation, params):
    try:
        result = getattr(client, xform_name(operation))(**params)
    except ClientError as refusal:
        error = refusal.response["Error"]
        status = refusal.response["ResponseMetadata"]["HTTPStatusCode"]
        return {"error": error["Code"], "message": error["Message"], "status": status}
    result.pop("ResponseMetadata", None)
    return {"result": result}


def main():
    clients = {}
    for line in sys.stdin:
        request = json.loads(line)
        service, _, operation = request["operation"].rpartition(".")
        service = service or "gamelift"
        if service not in clients:
            clients[service] = boto3.client(service)
        answer = call(clients[service], operation, request["params"] or {})
        print(json.dumps(answer, default=plain), flush=True)


main()
