package s3

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/objects"
)

type initiated struct {
	XMLName  struct{} `xml:"http://s3.amazonaws.com/doc/2006-03-01/ InitiateMultipartUploadResult"`
	Bucket   string
	Key      string
	UploadID string `xml:"UploadId"`
}

// createUpload serves CreateMultipartUpload.
func (q *request) createUpload(ctx context.Context) error {
	o, err := q.described()
	if err != nil {
		return err
	}
	u := objects.Upload{Bucket: q.bucket, Key: q.key, ContentType: o.ContentType, Metadata: o.Metadata}
	if err := readAlgorithm(q.r.Header, &u); err != nil {
		return err
	}
	if err := q.Catalog.Check(ctx, q.bucket, q.key); err != nil {
		return err
	}
	if u, err = q.Uploads.Initiate(u); err != nil {
		return err
	}
	if u.Algorithm != "" {
		q.w.Header().Set(checksumHeader+"Algorithm", string(u.Algorithm))
		q.w.Header().Set(checksumHeader+"Type", uploadType(u))
	}
	q.xml(http.StatusOK, initiated{Bucket: q.bucket, Key: q.key, UploadID: u.ID})
	return nil
}

// readAlgorithm reads which checksums the parts and the object have.
func readAlgorithm(h http.Header, u *objects.Upload) error {
	u.Algorithm = objects.Algorithm(strings.ToUpper(h.Get(checksumHeader + "Algorithm")))
	if u.Algorithm == "" {
		return nil
	}
	if u.Algorithm.New() == nil {
		return noAlgorithm(string(u.Algorithm))
	}
	cyclic := strings.HasPrefix(string(u.Algorithm), "CRC")
	u.FullObject = u.Algorithm == objects.CRC64NVME
	// Source: Amazon S3 user guide, "Checking object integrity for data uploads".
	switch t := h.Get(checksumHeader + "Type"); {
	case t == "":
	case t == "FULL_OBJECT" && cyclic:
		u.FullObject = true
	case t == "COMPOSITE" && u.Algorithm != objects.CRC64NVME:
	default:
		return objects.Errorf(objects.InvalidRequest,
			"x-amz-checksum-type '%.32s' is not valid with %s.", t, u.Algorithm)
	}
	return nil
}

func uploadType(u objects.Upload) string {
	if u.FullObject {
		return "FULL_OBJECT"
	}
	return "COMPOSITE"
}

// upload returns the upload that the request names.
func (q *request) upload() (objects.Upload, error) {
	u, err := q.Uploads.Upload(q.query.Get("uploadId"))
	if err == nil && (u.Bucket != q.bucket || u.Key != q.key) {
		return u, objects.Errorf(objects.NoSuchUpload, "The multipart upload does not exist for this key.")
	}
	return u, err
}

// uploadPart serves UploadPart.
func (q *request) uploadPart(ctx context.Context) error {
	if q.r.Header.Get(copySource) != "" {
		return notImplemented("UploadPartCopy is not implemented. Upload the bytes, or use CopyObject.")
	}
	number, err := strconv.Atoi(q.query.Get("partNumber"))
	if err != nil || number < 1 || number > objects.MaxParts {
		return objects.Errorf(objects.InvalidArgument,
			"Part number must be an integer between 1 and %d, inclusive.", objects.MaxParts)
	}
	u, err := q.upload()
	if err != nil {
		return err
	}
	if err := q.Catalog.Check(ctx, q.bucket, q.key); err != nil {
		return err
	}
	w, p, err := q.store(u.Algorithm)
	if err != nil {
		return err
	}
	defer w.Abort()
	checksum := p.checksum
	if u.Algorithm == "" {
		checksum = "" // verified, but not of the upload
	}
	part, err := q.Uploads.PutPart(u, number, checksum, w)
	if err != nil {
		return err
	}
	q.w.Header().Set("ETag", quoted(part.ETag))
	if p.algorithm != "" {
		q.w.Header().Set(checksumHeader+string(p.algorithm), p.checksum)
	}
	return q.answer(http.StatusOK, nil)
}

type completion struct {
	Part []struct {
		PartNumber int
		ETag       string
		checksums
	}
}

type completed struct {
	XMLName  struct{} `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CompleteMultipartUploadResult"`
	Location string
	Bucket   string
	Key      string
	ETag     string
	checksums
	ChecksumType string `xml:",omitempty"`
}

// completeUpload serves CompleteMultipartUpload.
func (q *request) completeUpload(ctx context.Context) error {
	announced := takeChecksums(q.r.Header)
	body, release, err := q.small()
	if err != nil {
		return err
	}
	defer release()
	var input completion
	if err := readXML(body, &input); err != nil {
		return err
	}
	if n := len(input.Part); n == 0 || n > objects.MaxParts {
		return objects.Errorf(objects.MalformedXML, "The list of parts must have 1 to %d parts.", objects.MaxParts)
	}
	o, err := q.awaitComplete(ctx, &input, announced)
	if err != nil {
		return err
	}
	result := completed{Location: "/" + q.bucket + "/" + escapeKey(q.key), Bucket: q.bucket, Key: q.key,
		ETag: quoted(o.ETag), checksums: checksumsOf(o.Checksums)}
	for _, value := range o.Checksums {
		result.ChecksumType = checksumType(value)
	}
	q.xml(http.StatusOK, result)
	return nil
}

// WaitingInterval is how often a client that waits for the end of an upload receives something. Clients wait for 60 s.
const WaitingInterval = 10 * time.Second

// awaitComplete is complete, during which the client receives something now and then: to join large parts takes longer
// than clients wait.
func (q *request) awaitComplete(ctx context.Context, input *completion, announced map[string]string) (
	o objects.Object, err error,
) {
	ticker := q.Clock.NewTicker(WaitingInterval)
	defer ticker.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer recovered(&err)
		o, err = q.complete(ctx, input, announced)
	}()
	for {
		select {
		case <-done:
			return o, err
		case <-ticker.Chan():
			q.keepWaiting()
		}
	}
}

// complete makes the object of an upload. If the upload was completed with these parts before, whose answer may have
// been lost, it returns the object that exists.
func (q *request) complete(ctx context.Context, input *completion, announced map[string]string) (
	o objects.Object, err error,
) {
	u, err := q.upload()
	parts := make([]objects.Part, len(input.Part))
	for i := range input.Part {
		p := &input.Part[i]
		parts[i] = objects.Part{Number: p.PartNumber, ETag: unquoted(p.ETag), Checksum: *p.field(u.Algorithm)}
	}
	if objects.CodeOf(err) == objects.NoSuchUpload {
		if o, _ := q.Catalog.Object(ctx, q.bucket, q.key); o.ETag == objects.ETagOf(parts) {
			return o, nil
		}
	}
	if err != nil {
		return o, err
	}
	if err := q.Catalog.Check(ctx, q.bucket, q.key); err != nil {
		return o, err
	}
	if o, err = q.Uploads.Complete(u, parts); err != nil {
		return o, err
	}
	if err := q.checkCompleted(&o, announced); err != nil {
		return o, err
	}
	if err := q.Catalog.Put(ctx, o); err != nil {
		return o, err
	}
	if err := q.Uploads.Abort(u); err != nil && objects.CodeOf(err) != objects.NoSuchUpload {
		q.log("completed upload not deleted", err) // deleted when it is old
	}
	return o, nil
}

// takeChecksums removes the checksums of the object from the headers, where they would be taken for those of the body.
func takeChecksums(h http.Header) map[string]string {
	announced := map[string]string{}
	for _, a := range objects.Algorithms {
		if value := h.Get(checksumHeader + string(a)); value != "" {
			announced[string(a)] = value
			h.Del(checksumHeader + string(a))
		}
	}
	return announced
}

// checkCompleted compares the object with what the headers announce of it.
func (q *request) checkCompleted(o *objects.Object, announced map[string]string) error {
	for a, value := range announced {
		got, ok := o.Checksums[a]
		if !ok {
			return objects.Errorf(objects.InvalidRequest, "The upload was not created with the algorithm %s.", a)
		}
		if sum, _, _ := strings.Cut(got, "-"); value != got && value != sum {
			return objects.Errorf(objects.BadDigest, "The %s you specified did not match the calculated checksum.", a)
		}
	}
	size := q.r.Header.Get("X-Amz-Mp-Object-Size")
	if size != "" && size != strconv.FormatInt(o.Size, 10) {
		return objects.Errorf(objects.InvalidRequest,
			"The object has %d bytes, not the %.20s of x-amz-mp-object-size.", o.Size, size)
	}
	return nil
}

// abortUpload serves AbortMultipartUpload.
func (q *request) abortUpload(context.Context) error {
	u, err := q.upload()
	if err != nil {
		return err
	}
	if err := q.Uploads.Abort(u); err != nil {
		return err
	}
	return q.answer(http.StatusNoContent, nil)
}

type partList struct {
	XMLName              struct{} `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListPartsResult"`
	Bucket               string
	Key                  string
	UploadID             string `xml:"UploadId"`
	PartNumberMarker     int
	NextPartNumberMarker int
	MaxParts             int
	IsTruncated          bool
	ChecksumAlgorithm    string `xml:",omitempty"`
	ChecksumType         string `xml:",omitempty"`
	Part                 []listedPart
	StorageClass         string
}

type listedPart struct {
	PartNumber   int
	LastModified string
	ETag         string
	Size         int64
	checksums
}

// listParts serves ListParts.
func (q *request) listParts(context.Context) error {
	limit, err := q.number("max-parts", 1, maxList)
	if err != nil {
		return err
	}
	after := 0
	if q.query.Get("part-number-marker") != "" {
		if after, err = q.number("part-number-marker", 0, objects.MaxParts); err != nil {
			return err
		}
	}
	u, err := q.upload()
	if err != nil {
		return err
	}
	parts, err := q.Uploads.Parts(u, after, limit+1)
	if err != nil {
		return err
	}
	list := partList{Bucket: q.bucket, Key: q.key, UploadID: u.ID, PartNumberMarker: after, MaxParts: limit,
		StorageClass: "STANDARD", IsTruncated: len(parts) > limit}
	if u.Algorithm != "" {
		list.ChecksumAlgorithm, list.ChecksumType = string(u.Algorithm), uploadType(u)
	}
	for _, p := range parts[:min(limit, len(parts))] {
		list.NextPartNumberMarker = p.Number
		list.Part = append(list.Part, listedPart{p.Number, xmlTime(p.Modified), quoted(p.ETag), p.Size,
			checksumsOf(map[string]string{string(u.Algorithm): p.Checksum})})
	}
	q.xml(http.StatusOK, list)
	return nil
}
