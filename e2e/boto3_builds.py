"""Uploads builds in the ways of boto3, and tries what their credentials must not do. Prints the outcomes as JSON.

Arguments: the path of a zip archive.
"""

import io
import json
import sys

import boto3
import botocore.exceptions


def code(call, **arguments):
    """The code of the error of a call; "" without one."""
    try:
        call(**arguments)
    except botocore.exceptions.ClientError as error:
        return error.response["Error"]["Code"]
    return ""


path = sys.argv[1]
with open(path, "rb") as file:
    content = file.read()
gamelift = boto3.client("gamelift")


def upload(way):
    made = gamelift.create_build(Name=way)
    given, place = made["UploadCredentials"], made["StorageLocation"]
    s3 = boto3.client(
        "s3",
        aws_access_key_id=given["AccessKeyId"],
        aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
    )
    bucket, key = place["Bucket"], place["Key"]
    refused = {
        "get": code(s3.get_object, Bucket=bucket, Key=key),
        "list": code(s3.list_objects_v2, Bucket=bucket),
        "buckets": code(s3.list_buckets),
        "other": code(s3.put_object, Bucket=bucket, Key=key + "0", Body=content),
        "delete": code(s3.delete_object, Bucket=bucket, Key=key),
    }
    if way == "upload_file":
        s3.upload_file(path, bucket, key)
    elif way == "upload_fileobj":
        s3.upload_fileobj(io.BytesIO(content), bucket, key)
    else:
        s3.put_object(Bucket=bucket, Key=key, Body=content)
    refused["again"] = code(s3.put_object, Bucket=bucket, Key=key, Body=content)
    build = gamelift.describe_build(BuildId=made["Build"]["BuildId"])["Build"]
    return {"status": build["Status"], "size": build["SizeOnDisk"], "refused": refused}


print(json.dumps({way: upload(way) for way in ("upload_file", "upload_fileobj", "put_object")}))
