package s3

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/muster-gg/muster/internal/objects"
)

// An operation of the API.
type operation struct {
	name   string
	action string // of policies; "": the operation asks itself
	method string
	level  level
	needs  []string // parameters that tell the operation from others of the same method and level
	takes  []string // further parameters
	serve  func(q *request, ctx context.Context) error
}

// A level is what the path of a request names.
type level int

const (
	ofService level = iota
	ofBucket
	ofKey
)

// operations is the table of the operations that are served. Where two match, the first is meant.
var operations = []operation{
	{"ListBuckets", "ListAllMyBuckets", http.MethodGet, ofService, nil,
		[]string{"max-buckets", "prefix", "continuation-token"}, (*request).listBuckets},

	{"GetBucketLocation", "GetBucketLocation", http.MethodGet, ofBucket, []string{"location"}, nil,
		(*request).bucketLocation},
	{"ListObjectsV2", "ListBucket", http.MethodGet, ofBucket, []string{"list-type"}, []string{"prefix", "delimiter",
		"continuation-token", "start-after", "max-keys", "encoding-type", "fetch-owner"}, (*request).listObjects},
	{"HeadBucket", "ListBucket", http.MethodHead, ofBucket, nil, nil, (*request).headBucket},
	{"CreateBucket", "CreateBucket", http.MethodPut, ofBucket, nil, nil, (*request).createBucket},
	{"DeleteBucket", "DeleteBucket", http.MethodDelete, ofBucket, nil, nil, (*request).deleteBucket},
	{"DeleteObjects", "", http.MethodPost, ofBucket, []string{"delete"}, nil, (*request).deleteObjects},

	{"ListParts", "ListMultipartUploadParts", http.MethodGet, ofKey, []string{"uploadId"},
		[]string{"max-parts", "part-number-marker"}, (*request).listParts},
	{"GetObject", "GetObject", http.MethodGet, ofKey, nil, overrides, (*request).getObject},
	{"HeadObject", "GetObject", http.MethodHead, ofKey, nil, overrides, (*request).getObject},
	{"UploadPart", "PutObject", http.MethodPut, ofKey, []string{"partNumber", "uploadId"}, nil, (*request).uploadPart},
	{"PutObject", "PutObject", http.MethodPut, ofKey, nil, nil, (*request).putObject}, // CopyObject, too
	{"CreateMultipartUpload", "PutObject", http.MethodPost, ofKey, []string{"uploads"}, nil, (*request).createUpload},
	{"CompleteMultipartUpload", "PutObject", http.MethodPost, ofKey, []string{"uploadId"}, nil,
		(*request).completeUpload},
	{"AbortMultipartUpload", "AbortMultipartUpload", http.MethodDelete, ofKey, []string{"uploadId"}, nil,
		(*request).abortUpload},
	{"DeleteObject", "DeleteObject", http.MethodDelete, ofKey, nil, nil, (*request).deleteObject},
}

// overrides are the parameters that replace headers of an answer.
var overrides = []string{"response-content-type", "response-content-disposition", "response-content-encoding",
	"response-content-language", "response-cache-control", "response-expires"}

// refusedHeaders have an effect on S3 that objects do not have here. An empty value stands for any.
var refusedHeaders = []string{"X-Amz-Tagging", "X-Amz-Object-Lock-Mode", "X-Amz-Object-Lock-Legal-Hold",
	"X-Amz-Object-Lock-Retain-Until-Date", "X-Amz-Website-Redirect-Location",
	"X-Amz-Server-Side-Encryption-Customer-Algorithm", "X-Amz-Write-Offset-Bytes", "X-Amz-Bucket-Object-Lock-Enabled"}

// find sets the operation, or returns why there is none.
func (q *request) find() error {
	for i := range operations {
		if o := &operations[i]; o.method == q.r.Method && o.level == q.level() && q.hasAll(o.needs) {
			q.operation = o
			break
		}
	}
	if q.operation == nil {
		return notImplemented("This operation on %s is not implemented. Implemented are %s.", q.level(), names())
	}
	for name := range q.query {
		if !slices.Contains(q.operation.needs, name) && !slices.Contains(q.operation.takes, name) &&
			!ofSignature(name) {
			o := q.operation
			q.operation = nil
			return notImplemented("The parameter '%.64s' is not implemented for %s.", name, o.name)
		}
	}
	for _, name := range refusedHeaders {
		if q.r.Header.Get(name) != "" {
			return notImplemented("The header '%s' is not implemented.", strings.ToLower(name))
		}
	}
	return nil
}

func (q *request) level() level {
	switch {
	case q.bucket == "":
		return ofService
	case q.key == "":
		return ofBucket
	default:
		return ofKey
	}
}

// String returns the level for a message.
func (l level) String() string { return [...]string{"the service", "a bucket", "an object"}[l] }

func (q *request) hasAll(parameters []string) bool {
	return !slices.ContainsFunc(parameters, func(p string) bool { return !q.query.Has(p) })
}

// ofSignature reports whether a parameter belongs to the signature, or is the name of the operation that the SDK for Go
// adds.
func ofSignature(parameter string) bool {
	return strings.HasPrefix(parameter, "X-Amz-") || parameter == "x-id" || parameter == "AWSAccessKeyId"
}

// names returns the names of all operations.
func names() string {
	list := []string{"CopyObject"}
	for _, o := range operations {
		list = append(list, o.name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// maxKey is the maximum length of a key, in bytes. Source: Amazon S3 user guide, "Naming Amazon S3 objects".
const maxKey = 1024

func checkName(bucket, key string) error {
	switch {
	case bucket == "" && key != "":
		return objects.Errorf(objects.InvalidBucketName, "The path of an object is /BUCKET/KEY.")
	case len(key) > maxKey:
		return objects.Errorf(objects.KeyTooLong, "The key has %d bytes, more than %d.", len(key), maxKey)
	case !utf8.ValidString(key):
		return objects.Errorf(objects.InvalidArgument, "The key is not valid UTF-8.")
	}
	return nil
}
