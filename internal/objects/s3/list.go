package s3

import (
	"context"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/internal/objects"
)

// maxList is the maximum number of entries on a page, and its default. Source: Amazon S3 API reference, ListObjectsV2
// and ListParts.
const maxList = 1000

type objectList struct {
	XMLName               struct{} `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
	Name                  string
	Prefix                string
	Delimiter             string `xml:",omitempty"`
	MaxKeys               int
	EncodingType          string `xml:",omitempty"`
	KeyCount              int
	IsTruncated           bool
	ContinuationToken     string `xml:",omitempty"`
	NextContinuationToken string `xml:",omitempty"`
	StartAfter            string `xml:",omitempty"`
	Contents              []listedObject
	CommonPrefixes        []commonPrefix
}

type listedObject struct {
	Key          string
	LastModified string
	ETag         string
	Size         int64
	StorageClass string
	Algorithms   []string `xml:"ChecksumAlgorithm,omitempty"`
}

type commonPrefix struct{ Prefix string }

// listObjects serves ListObjectsV2. Its token is the last key of the page before, or what follows all keys with the
// last prefix.
func (q *request) listObjects(ctx context.Context) error {
	if q.query.Get("list-type") != "2" {
		return notImplemented("The parameter 'list-type' must be 2.")
	}
	limit, err := q.number("max-keys", 0, maxList)
	if err != nil {
		return err
	}
	encoding := q.query.Get("encoding-type")
	if encoding != "" && encoding != "url" {
		return objects.Errorf(objects.InvalidArgument, "The parameter 'encoding-type' must be 'url'.")
	}
	after, err := q.token()
	if err != nil {
		return err
	}
	list := objectList{Name: q.bucket, Prefix: q.query.Get("prefix"), Delimiter: q.query.Get("delimiter"),
		MaxKeys: limit, EncodingType: encoding, ContinuationToken: q.query.Get("continuation-token"),
		StartAfter: q.query.Get("start-after")}
	if after == "" {
		after = list.StartAfter
	}
	if err := q.fill(ctx, &list, after); err != nil {
		return err
	}
	list.KeyCount = len(list.Contents) + len(list.CommonPrefixes)
	if encoding != "" {
		list.escape()
	}
	q.xml(http.StatusOK, list)
	return nil
}

// fill adds the objects and prefixes after a key, at most MaxKeys.
func (q *request) fill(ctx context.Context, list *objectList, after string) error {
	room := list.MaxKeys
	for {
		asked := room + 1
		page, err := q.Catalog.List(ctx, q.bucket, list.Prefix, after, asked)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, o := range page {
			if o.Key <= after {
				continue // of the prefix that was added
			}
			if room == 0 {
				list.IsTruncated = list.MaxKeys > 0
				if list.IsTruncated {
					list.NextContinuationToken = tokenOf(after)
				}
				return nil
			}
			room--
			after = list.add(o)
		}
		if len(page) < asked {
			return nil // it was the last
		}
	}
}

// add adds an object, or the prefix that it has in common with others, and returns the text after which the list
// continues.
func (l *objectList) add(o objects.Object) (after string) {
	if l.Delimiter != "" {
		if i := strings.Index(o.Key[len(l.Prefix):], l.Delimiter); i >= 0 {
			prefix := o.Key[:len(l.Prefix)+i+len(l.Delimiter)]
			l.CommonPrefixes = append(l.CommonPrefixes, commonPrefix{prefix})
			return prefix + "\xff" // greater than all keys with the prefix, because keys are UTF-8
		}
	}
	entry := listedObject{Key: o.Key, LastModified: xmlTime(o.Modified), ETag: quoted(o.ETag), Size: o.Size,
		StorageClass: "STANDARD"}
	for a := range o.Checksums {
		entry.Algorithms = append(entry.Algorithms, a)
	}
	l.Contents = append(l.Contents, entry)
	return o.Key
}

// escape encodes the keys.
func (l *objectList) escape() {
	for _, s := range []*string{&l.Prefix, &l.Delimiter, &l.StartAfter} {
		*s = escapeKey(*s)
	}
	for i := range l.Contents {
		l.Contents[i].Key = escapeKey(l.Contents[i].Key)
	}
	for i := range l.CommonPrefixes {
		l.CommonPrefixes[i].Prefix = escapeKey(l.CommonPrefixes[i].Prefix)
	}
}

// number returns a parameter, of which a larger value than most means most; most if it is absent.
func (q *request) number(name string, least, most int) (int, error) {
	text := q.query.Get(name)
	if text == "" {
		return most, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, objects.Errorf(objects.InvalidArgument, "The parameter '%s' must be a number of at least %d.",
			name, least)
	}
	return min(n, most), nil
}

// tokenOf returns the token of a page after a key. Clients must not depend on its form.
func tokenOf(after string) string { return base64.RawURLEncoding.EncodeToString([]byte(after)) }

// token returns the key of the parameter continuation-token; "" if it is absent.
func (q *request) token() (string, error) {
	after, err := base64.RawURLEncoding.DecodeString(q.query.Get("continuation-token"))
	if err != nil || len(after) > 2*maxKey {
		return "", objects.Errorf(objects.InvalidArgument, "The continuation token provided is incorrect.")
	}
	return string(after), nil
}
