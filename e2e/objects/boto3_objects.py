"""Uploads a file in each way that boto3 has, reads it back, and prints what it saw as JSON."""

import hashlib
import io
import json
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

bucket, path = sys.argv[1:3]
s3 = boto3.client("s3", config=Config(signature_version="s3v4"))
with open(path, "rb") as f:
    data = f.read()

s3.upload_file(path, bucket, "file", ExtraArgs={"Metadata": {"who": "ada"}, "ContentType": "application/zip"})
with open(path, "rb") as f:
    s3.upload_fileobj(f, bucket, "dir/fileobj")
put = s3.put_object(Bucket=bucket, Key="dir/put object+é", Body=data)
for algorithm in ["CRC32", "SHA1", "SHA256"]:  # the others need a further package
    s3.put_object(Bucket=bucket, Key="sum/" + algorithm, Body=io.BytesIO(data), ChecksumAlgorithm=algorithm)
seen = {"put": put["ETag"], "keys": [], "prefixes": []}
for key in ["file", "dir/fileobj", "dir/put object+é"]:
    got = s3.get_object(Bucket=bucket, Key=key)
    assert hashlib.sha256(got["Body"].read()).digest() == hashlib.sha256(data).digest(), key
head = s3.head_object(Bucket=bucket, Key="file", ChecksumMode="ENABLED")
seen["head"] = {k: head.get(k) for k in ["ContentLength", "ContentType", "Metadata", "ChecksumCRC32", "ChecksumType"]}
seen["range"] = s3.get_object(Bucket=bucket, Key="file", Range="bytes=3-9")["Body"].read().hex()
for page in s3.get_paginator("list_objects_v2").paginate(
    Bucket=bucket, Delimiter="/", PaginationConfig={"PageSize": 1}
):
    seen["keys"] += [o["Key"] for o in page.get("Contents", [])]
    seen["prefixes"] += [p["Prefix"] for p in page.get("CommonPrefixes", [])]
seen["all"] = [o["Key"] for o in s3.list_objects_v2(Bucket=bucket, Prefix="dir/")["Contents"]]
s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": "dir/put object+é"})
seen["deleted"] = len(s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "copy"}, {"Key": "x"}]})["Deleted"])
seen["presigned"] = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "dir/put object+é"})
seen["presigned put"] = s3.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": "presigned"})
old = boto3.client("s3", config=Config(signature_version="s3"))
seen["old"] = old.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "file"})
s3.create_bucket(Bucket="other", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
seen["buckets"] = [b["Name"] for b in s3.list_buckets()["Buckets"]]
seen["location"] = s3.get_bucket_location(Bucket="other")["LocationConstraint"]
s3.head_bucket(Bucket="other")
s3.delete_bucket(Bucket="other")


def refused(call, **params):
    try:
        call(**params)
    except ClientError as e:
        return [e.response["Error"]["Code"], e.response["ResponseMetadata"]["HTTPStatusCode"]]
    return ["none", 200]


seen["refused"] = {
    "absent": refused(s3.get_object, Bucket=bucket, Key="absent"),
    "absent head": refused(s3.head_object, Bucket=bucket, Key="absent"),
    "absent bucket": refused(s3.put_object, Bucket="absent", Key="k", Body=data),
    "acl": refused(s3.get_bucket_acl, Bucket=bucket),
    "versions": refused(s3.list_object_versions, Bucket=bucket),
    "tags": refused(s3.put_object_tagging, Bucket=bucket, Key="file", Tagging={"TagSet": []}),
    "unmodified": refused(s3.get_object, Bucket=bucket, Key="file", IfNoneMatch=head["ETag"]),
    "changed": refused(s3.get_object, Bucket=bucket, Key="file", IfMatch='"0"'),
    "range": refused(s3.get_object, Bucket=bucket, Key="file", Range="bytes=99999999999-"),
    "full bucket": refused(s3.delete_bucket, Bucket=bucket),
}
print(json.dumps(seen))
