package s3

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/objects"
)

// getObject serves GetObject and HeadObject.
func (q *request) getObject(ctx context.Context) error {
	o, err := q.Catalog.Object(ctx, q.bucket, q.key)
	if err != nil {
		return err
	}
	f, err := q.Store.Open(o.Hash)
	if err != nil {
		return fmt.Errorf("object %s/%s: %w", q.bucket, q.key, err)
	}
	defer func() { _ = f.Close() }() // it was read
	q.setHeaders(o)
	q.received() // there is no body, and the answer may take longer than a request may
	http.ServeContent(&download{ResponseWriter: q.w, q: q}, q.r, "", o.Modified, f)
	return nil
}

// setHeaders sets the headers of an answer with an object.
func (q *request) setHeaders(o objects.Object) {
	h := q.w.Header()
	h.Set("ETag", quoted(o.ETag))
	h.Set("Content-Type", o.ContentType)
	for name, value := range o.Metadata {
		h[strings.ToLower(metaHeader)+name] = []string{value} // boto3 returns the names as they are written
	}
	for _, name := range overrides {
		if value := q.query.Get(name); value != "" {
			h.Set(strings.TrimPrefix(name, "response-"), value)
		}
	}
	// An object is shown on the origin of the console: it must not act there.
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	if r := q.r.Header.Get("Range"); r != "" {
		if !strings.HasPrefix(r, "bytes=") || strings.Contains(r, ",") { // S3 ignores them, too
			q.r.Header.Del("Range")
		}
	}
	if q.r.Header.Get(checksumHeader+"Mode") == "ENABLED" && q.r.Header.Get("Range") == "" {
		setChecksums(h, o.Checksums)
	}
}

// A download writes the bytes of an object as long as the client receives them, and errors as S3 does.
type download struct {
	http.ResponseWriter
	q      *request
	failed bool
}

// WriteHeader begins the answer.
func (d *download) WriteHeader(status int) {
	if status >= http.StatusMultipleChoices { // clients would take the checksum for that of the answer's body
		for name := range d.Header() {
			if strings.HasPrefix(name, checksumHeader) {
				d.Header().Del(name)
			}
		}
	}
	switch status {
	case http.StatusRequestedRangeNotSatisfiable:
		d.fail(objects.Errorf(objects.InvalidRange, "The requested range is not satisfiable."))
	case http.StatusPreconditionFailed:
		d.fail(objects.Errorf(objects.PreconditionFailed,
			"At least one of the pre-conditions you specified did not hold."))
	default:
		d.ResponseWriter.WriteHeader(status)
	}
}

func (d *download) fail(err error) {
	d.failed = true
	d.q.fail(err)
}

// Write writes, unless the answer is an error.
func (d *download) Write(p []byte) (int, error) {
	if d.failed {
		return len(p), nil
	}
	d.extend()
	n, err := d.ResponseWriter.Write(p)
	d.q.out += int64(n)
	return n, err
}

// piece is how much is sent before the deadline of writes is moved, in bytes.
const piece = 4 << 20

// ReadFrom sends what a LimitedReader of a file has, piece by piece, each with sendfile where the connection allows it.
func (d *download) ReadFrom(r io.Reader) (sent int64, err error) {
	limited, ok := r.(*io.LimitedReader)
	if !ok || d.failed {
		return io.Copy(struct{ io.Writer }{d}, r)
	}
	for limited.N > 0 {
		d.extend()
		n, err := io.Copy(d.ResponseWriter, &io.LimitedReader{R: limited.R, N: min(piece, limited.N)})
		limited.N -= n
		sent += n
		d.q.out += n
		if err != nil || n == 0 {
			return sent, err
		}
	}
	return sent, nil
}

func (d *download) extend() { _ = d.q.conn.SetWriteDeadline(time.Now().Add(stallTime)) }
