package operator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A received is what an endpoint of a streamed body takes: the body is read while the call is served, and may be
// compressed with Zstandard.
type received struct {
	media string       // of the body
	limit int64        // of the body in bytes, after decompression
	shape reflect.Type // of its JSON; nil: it is not JSON
}

// serveTime is the time for an answer after the body of a call was read: the archive of a large build is written.
const serveTime = 10 * time.Minute

// maxReadMemory limits the memory for decompressing a body, in bytes.
const maxReadMemory = 64 << 20

// receiving returns the endpoint of a request whose body do reads. shape is a value of the type of its JSON, or nil.
func receiving[A any](media string, limit int64, shape any,
	do func(d *Handler, c *call, body io.Reader) (A, error)) endpoint {
	e := answering(func(d *Handler, c *call) (A, error) {
		body, end, err := decompressed(c.Request, limit)
		if err != nil {
			var none A
			return none, err
		}
		defer end()
		return do(d, c, body)
	})
	e.received = &received{media, limit, reflect.TypeOf(shape)}
	return e
}

// checkReceived checks the head of a request with a streamed body, and returns the SHA-256 that the signature covers.
func (r *received) checkReceived(request *http.Request) (sum [sha256.Size]byte, err error) {
	kind, _, err := mime.ParseMediaType(request.Header.Get("Content-Type"))
	if err != nil || kind != r.media {
		return sum, fault.New(fault.InvalidRequest, "Content-Type is %.100q: it must be %s.",
			request.Header.Get("Content-Type"), r.media)
	}
	text := request.Header.Get("X-Amz-Content-Sha256")
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(sum) {
		return sum, fault.New(fault.InvalidRequest, "X-Amz-Content-Sha256 is %.100q: it must be the SHA-256 of the "+
			"body.", text)
	}
	if request.ContentLength > r.limit {
		return sum, errLarge(r.limit)
	}
	return [sha256.Size]byte(raw), nil
}

func errLarge(limit int64) error {
	return fault.New(fault.InvalidRequest, "The body is too large: it may have %d bytes.", limit)
}

// A signedBody is a body that is read after the signature was verified, and is compared with its hash at the end. Each
// part has a time limit.
type signedBody struct {
	io.ReadCloser
	control *http.ResponseController
	sum     hash.Hash
	want    [sha256.Size]byte
}

func (b *signedBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(bodyTime))
	n, err := b.ReadCloser.Read(p)
	b.sum.Write(p[:n])
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	_ = b.control.SetReadDeadline(time.Time{})
	_ = b.control.SetWriteDeadline(time.Now().Add(serveTime))
	if [sha256.Size]byte(b.sum.Sum(nil)) != b.want {
		return n, fault.New(fault.InvalidSignature, "The body has another SHA-256 than the one that was signed.")
	}
	return n, io.EOF
}

// decompressed returns the body of a request. The caller calls end.
func decompressed(r *http.Request, limit int64) (body io.Reader, end func(), err error) {
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "":
		return &limited{r.Body, limit, limit}, func() {}, nil
	case "zstd":
		from, err := zstd.NewReader(r.Body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(maxReadMemory))
		if err != nil {
			return nil, nil, err
		}
		return &limited{from, limit, limit}, from.Close, nil
	default:
		return nil, nil, fault.New(fault.InvalidRequest, "Content-Encoding is %.100q: it must be zstd, or absent.",
			encoding)
	}
}

// A limited is a body that may not be too large. Errors of reading it are the client's.
type limited struct {
	from        io.Reader
	room, limit int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if l.room -= int64(n); l.room < 0 {
		return 0, errLarge(l.limit)
	}
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return n, f
	}
	return n, fault.New(fault.InvalidRequest, "The body could not be read: %s.",
		strings.TrimSuffix(err.Error(), "."))
}

// decodeFrom decodes a streamed body, which is one JSON object.
func decodeFrom(body io.Reader, to any) error {
	from := json.NewDecoder(body)
	from.DisallowUnknownFields()
	err := from.Decode(to)
	if err == nil {
		if _, err = from.Token(); errors.Is(err, io.EOF) {
			return nil
		}
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if err == nil {
		return errObject
	}
	return fault.New(fault.InvalidRequest, "%s", decodeMessage(err))
}
