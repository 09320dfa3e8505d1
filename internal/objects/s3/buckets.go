package s3

import (
	"context"
	"net/http"
	"net/netip"
	"regexp"
	"strings"

	"github.com/muster-gg/muster/internal/objects"
)

type bucketList struct {
	XMLName           struct{} `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListAllMyBucketsResult"`
	Buckets           []bucket `xml:"Buckets>Bucket"`
	ContinuationToken string   `xml:",omitempty"`
	Prefix            string   `xml:",omitempty"`
}

type bucket struct {
	Name         string
	CreationDate string
	BucketRegion string
}

// maxBuckets is the maximum number of buckets on a page. Source: Amazon S3 API reference, ListBuckets.
const maxBuckets = 10_000

// listBuckets serves ListBuckets. Its token is the last name of the page before.
func (q *request) listBuckets(ctx context.Context) error {
	limit, err := q.number("max-buckets", 1, maxBuckets)
	if err != nil {
		return err
	}
	after, err := q.token()
	if err != nil {
		return err
	}
	all, err := q.Catalog.Buckets(ctx)
	if err != nil {
		return err
	}
	list := bucketList{Prefix: q.query.Get("prefix")}
	for _, b := range all {
		if !strings.HasPrefix(b.Name, list.Prefix) || b.Name <= after {
			continue
		}
		if len(list.Buckets) == limit {
			list.ContinuationToken = tokenOf(list.Buckets[limit-1].Name)
			break
		}
		list.Buckets = append(list.Buckets, bucket{b.Name, xmlTime(b.Created), q.Region})
	}
	q.xml(http.StatusOK, list)
	return nil
}

// bucketLocation serves GetBucketLocation.
func (q *request) bucketLocation(ctx context.Context) error {
	if _, err := q.Catalog.Bucket(ctx, q.bucket); err != nil {
		return err
	}
	location := struct {
		XMLName struct{} `xml:"http://s3.amazonaws.com/doc/2006-03-01/ LocationConstraint"`
		Region  string   `xml:",chardata"`
	}{Region: q.Region}
	if q.Region == "us-east-1" { // Source: Amazon S3 API reference, GetBucketLocation
		location.Region = ""
	}
	q.xml(http.StatusOK, location)
	return nil
}

// headBucket serves HeadBucket.
func (q *request) headBucket(ctx context.Context) error {
	if _, err := q.Catalog.Bucket(ctx, q.bucket); err != nil {
		return err
	}
	q.w.Header().Set("x-amz-bucket-region", q.Region)
	return q.answer(http.StatusOK, nil)
}

// bucketName is the form of names. Source: Amazon S3 user guide, "General purpose bucket naming rules".
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// createBucket serves CreateBucket. Where the bucket should be, which the body says, does not matter.
func (q *request) createBucket(ctx context.Context) error {
	_, noAddress := netip.ParseAddr(q.bucket)
	if !bucketName.MatchString(q.bucket) || strings.Contains(q.bucket, "..") || noAddress == nil {
		return objects.Errorf(objects.InvalidBucketName,
			"The bucket name %.64q is not valid: it must have 3 to 63 lower-case letters, digits, '.' and '-', begin "+
				"and end with a letter or digit, and be no IP address.", q.bucket)
	}
	_, release, err := q.small()
	if err != nil {
		return err
	}
	release()
	if err := q.Catalog.CreateBucket(ctx, q.bucket); err != nil {
		return err
	}
	q.w.Header().Set("Location", "/"+q.bucket)
	return q.answer(http.StatusOK, nil)
}

// deleteBucket serves DeleteBucket.
func (q *request) deleteBucket(ctx context.Context) error {
	if err := q.Catalog.DeleteBucket(ctx, q.bucket); err != nil {
		return err
	}
	return q.answer(http.StatusNoContent, nil)
}
