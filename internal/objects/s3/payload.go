package s3

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/objects"
)

// The values of x-amz-content-sha256 besides a hash.
const (
	unsigned         = "UNSIGNED-PAYLOAD"
	unsignedTrailer  = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
	signedChunks     = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	signedAndTrailer = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
)

const (
	checksumHeader = "X-Amz-Checksum-"
	amzTrailer     = "X-Amz-Trailer"

	// maxPut is the maximum size of a body with bytes of an object. Source: Amazon S3 user guide, "Uploading objects".
	maxPut = 5 << 30

	// copyBuffer is the size of the buffers through which bodies are read and written, in bytes.
	copyBuffer = 256 << 10
)

var copyBuffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// A payload is the body of a request, decoded. Before it is used, it must be read to its end and then checked.
type payload struct {
	reader  io.Reader
	chunked *chunkedReader // nil: not in this form
	length  int64          // announced, in bytes
	sha256  string         // announced, in hex; "": none

	algorithm objects.Algorithm // of the checksum; "": none
	checksum  string            // announced; "": in the trailer, or none
	computed  hash.Hash         // of algorithm
	inTrailer bool

	md5   hash.Hash // nil: not announced
	md5is string    // announced, in base64
}

// payload returns the body, of at most limit bytes. If algorithm is not "", its checksum is computed in any case, and
// no other is accepted.
func (q *request) payload(limit int64, algorithm objects.Algorithm) (*payload, error) {
	p := &payload{algorithm: algorithm, reader: &bodyReader{q: q}}
	if err := p.readChecksum(q.r.Header, algorithm); err != nil {
		return nil, err
	}
	mode, err := q.mode()
	if err != nil {
		return nil, err
	}
	switch mode {
	case unsigned:
	case unsignedTrailer, signedChunks, signedAndTrailer:
		if err := p.decode(q, mode); err != nil {
			return nil, err
		}
	default:
		p.sha256 = mode
	}
	if p.inTrailer && mode != unsignedTrailer && mode != signedAndTrailer {
		return nil, objects.Errorf(objects.InvalidRequest,
			"A trailer needs an x-amz-content-sha256 that ends in -TRAILER.")
	}
	if err := p.readLength(q, limit); err != nil {
		return nil, err
	}
	if mode == unsigned && p.length > 0 && !p.protected(q) {
		return nil, objects.Errorf(objects.InvalidRequest,
			"Over unencrypted connections, %s needs a signed checksum or Content-MD5. Send one, or use https.",
			unsigned)
	}
	p.hashes()
	return p, nil
}

// mode returns the value of x-amz-content-sha256.
func (q *request) mode() (string, error) {
	mode := q.r.Header.Get("X-Amz-Content-Sha256")
	if q.signature != nil {
		mode = q.signature.Payload
	}
	switch mode {
	case "", unsigned:
		return unsigned, nil
	case unsignedTrailer, signedChunks, signedAndTrailer:
		return mode, nil
	}
	if sum, err := hex.DecodeString(mode); err == nil && len(sum) == sha256.Size {
		return strings.ToLower(mode), nil
	}
	return "", notImplemented("x-amz-content-sha256 must be a SHA-256 in hex, or one of %s, %s, %s and %s.", unsigned,
		signedChunks, signedAndTrailer, unsignedTrailer)
}

// readChecksum reads the announcement of a checksum.
func (p *payload) readChecksum(h http.Header, required objects.Algorithm) error {
	announced, err := checksumOf(h)
	if err != nil {
		return err
	}
	if name := h.Get(amzTrailer); name != "" {
		suffix, ok := cutPrefixFold(name, checksumHeader)
		if announced.algorithm = objects.Algorithm(strings.ToUpper(suffix)); !ok || announced.algorithm.New() == nil {
			return notImplemented("x-amz-trailer must be the header of one of the checksums %v.", objects.Algorithms)
		}
		if announced.value != "" {
			return objects.Errorf(objects.InvalidRequest, "A checksum is either in a header or in the trailer.")
		}
		p.inTrailer = true
	}
	if a := announced.algorithm; a != "" {
		if required != "" && a != required {
			return objects.Errorf(objects.InvalidRequest,
				"The checksum is of algorithm %s, that of the upload of %s.", a, required)
		}
		p.algorithm, p.checksum = a, announced.value
	}
	return p.readMD5(h.Get("Content-Md5"))
}

// A checksum is one that a header announces.
type checksum struct {
	algorithm objects.Algorithm // "": none
	value     string            // in base64
}

// checksumOf returns the checksum that the headers announce.
func checksumOf(h http.Header) (c checksum, err error) {
	for name, values := range h {
		suffix, ok := strings.CutPrefix(name, checksumHeader)
		if !ok || suffix == "Algorithm" || suffix == "Mode" || suffix == "Type" {
			continue
		}
		a := objects.Algorithm(strings.ToUpper(suffix))
		sum := a.New()
		switch raw, err := base64.StdEncoding.DecodeString(values[0]); {
		case sum == nil:
			return c, noAlgorithm(suffix)
		case err != nil || len(raw) != sum.Size():
			return c, objects.Errorf(objects.InvalidRequest, "The value of %s is no %s in base64.",
				strings.ToLower(name), a)
		case c.algorithm != "" || len(values) > 1:
			return c, objects.Errorf(objects.InvalidRequest, "Only one checksum may be sent.")
		}
		c = checksum{a, values[0]}
	}
	return c, nil
}

func noAlgorithm(name string) error {
	return notImplemented("The checksum '%.32s' is not implemented. Use one of %v.", name, objects.Algorithms)
}

func (p *payload) readMD5(value string) error {
	if value == "" {
		return nil
	}
	if sum, err := base64.StdEncoding.DecodeString(value); err != nil || len(sum) != md5.Size {
		return objects.Errorf(objects.InvalidDigest, "The Content-MD5 is no MD5 in base64.")
	}
	p.md5is, p.md5 = value, md5.New()
	return nil
}

// decode makes the payload one in chunks.
func (p *payload) decode(q *request, mode string) error {
	var chunks *sigv4.ChunkVerifier
	signed := mode != unsignedTrailer
	if signed && q.signature != nil {
		chunks = q.signature.Chunks()
	}
	trailer := ""
	if p.inTrailer {
		trailer = strings.ToLower(q.r.Header.Get(amzTrailer))
	}
	p.chunked = newChunkedReader(p.reader, signed, chunks, trailer)
	p.reader = p.chunked
	return nil
}

// readLength reads the announced length.
func (p *payload) readLength(q *request, limit int64) (err error) {
	p.length = q.r.ContentLength
	if p.chunked != nil {
		decoded := q.r.Header.Get("X-Amz-Decoded-Content-Length")
		if p.length, err = strconv.ParseInt(decoded, 10, 64); err != nil || p.length < 0 {
			return objects.Errorf(objects.MissingContentLength, "x-amz-decoded-content-length is required.")
		}
	}
	switch {
	case p.length < 0:
		return objects.Errorf(objects.MissingContentLength, "You must provide the Content-Length HTTP header.")
	case p.length > limit:
		return objects.Errorf(objects.EntityTooLarge, "The body has %d bytes, more than the maximum of %d.", p.length,
			limit)
	}
	return nil
}

// protected reports whether the payload cannot be changed on its way.
func (p *payload) protected(q *request) bool {
	return q.head.Client.TLS || p.checksum != "" || p.md5 != nil || q.signature == nil || q.signature.Presigned
}

// hashes makes the reader compute what check compares.
func (p *payload) hashes() {
	p.reader = io.LimitReader(p.reader, p.length+1)
	if p.algorithm != "" {
		p.computed = p.algorithm.New()
		p.reader = io.TeeReader(p.reader, p.computed)
	}
	if p.md5 != nil {
		p.reader = io.TeeReader(p.reader, p.md5)
	}
}

// check reports whether the body, which had this size and SHA-256, is what was announced. It sets checksum.
func (p *payload) check(size int64, sha256 string) error {
	switch {
	case size != p.length:
		return objects.Errorf(objects.IncompleteBody, "The body does not have the %d bytes that its headers announce.",
			p.length)
	case p.sha256 != "" && p.sha256 != sha256:
		return objects.Errorf(objects.ContentSHA256Mismatch,
			"The provided 'x-amz-content-sha256' header does not match what was computed.")
	case p.md5 != nil && objects.Checksum(p.md5) != p.md5is:
		return objects.Errorf(objects.BadDigest, "The Content-MD5 you specified did not match what we received.")
	}
	if p.computed == nil {
		return nil
	}
	announced := p.checksum
	if p.inTrailer {
		announced = p.chunked.value
	}
	p.checksum = objects.Checksum(p.computed)
	if announced != "" && announced != p.checksum || p.inTrailer && announced == "" {
		return objects.Errorf(objects.BadDigest, "The %s you specified did not match the calculated checksum.",
			p.algorithm)
	}
	return nil
}

// store writes the body to a file, and checks it. The caller must end the writer.
func (q *request) store(algorithm objects.Algorithm) (*objects.Writer, *payload, error) {
	p, err := q.payload(min(maxPut, q.Store.MaxSize), algorithm)
	if err != nil {
		return nil, nil, err
	}
	w, err := q.Store.Create(p.length)
	if err != nil {
		return nil, nil, err
	}
	buf := copyBuffers.Get().(*[copyBuffer]byte)
	defer copyBuffers.Put(buf)
	_, err = io.CopyBuffer(struct{ io.Writer }{w}, p.reader, buf[:])
	if objects.CodeOf(err) == objects.EntityTooLarge {
		err = objects.Errorf(objects.IncompleteBody, "The body is longer than its headers announce.")
	}
	if err == nil {
		err = p.check(w.Size(), w.SHA256())
	}
	if err != nil {
		w.Abort()
		return nil, nil, bodyError(err)
	}
	q.received()
	return w, p, nil
}

// small returns a body in XML, checked. release must be called when it is not used any more.
func (q *request) small() (body []byte, release func(), err error) {
	p, err := q.payload(maxXML, "")
	if err != nil {
		return nil, nil, err
	}
	if !q.Bodies.Take(int(p.length)) {
		return nil, nil, objects.Errorf(objects.SlowDown, "Too many large requests at a time. Try again later.")
	}
	release = func() { q.Bodies.Give(int(p.length)) }
	body, err = io.ReadAll(p.reader)
	if err == nil {
		err = p.check(int64(len(body)), fmt.Sprintf("%x", sha256.Sum256(body)))
	}
	if err != nil {
		release()
		return nil, nil, bodyError(err)
	}
	q.received()
	return body, release, nil
}

// received ends the deadlines of the body.
func (q *request) received() { _ = q.conn.SetReadDeadline(time.Time{}) }

// bodyError converts an error of reading a body.
func bodyError(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return objects.Errorf(objects.RequestTimeout, "No data was received for %v.", stallTime)
	case errors.Is(err, errRead) || errors.Is(err, io.ErrUnexpectedEOF):
		return &objects.Error{Code: objects.IncompleteBody, Message: "The body of the request did not arrive in whole.",
			Err: err}
	}
	return err
}

// errRead marks errors of the connection.
var errRead = errors.New("read body")

// A bodyReader reads the body of a request as long as bytes arrive. The first read asks a client that waits for it to
// send the body.
type bodyReader struct {
	q        *request
	extended time.Time // when the deadlines were set
}

// Read reads, and moves the deadlines of the connection every second.
func (b *bodyReader) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(b.extended) > time.Second {
		b.extended = now
		_ = b.q.conn.SetReadDeadline(now.Add(stallTime)) // without deadlines in tests
		_ = b.q.conn.SetWriteDeadline(now.Add(2 * stallTime))
	}
	n, err := b.q.r.Body.Read(p)
	b.q.in += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errRead, err)
	}
	return n, err
}

// cutPrefixFold is strings.CutPrefix without regard to case.
func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
