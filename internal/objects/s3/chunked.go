package s3

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"math"
	"strings"

	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/objects"
)

// maxLine is the maximum length of a line between chunks, and of the trailer, in bytes.
const maxLine = 1 << 10

// A chunkedReader decodes a body in aws-chunked form:
//
//	400;chunk-signature=<64 hex>CRLF <0x400 bytes>CRLF … 0;chunk-signature=<64 hex>CRLF
//	x-amz-checksum-crc32:<base64>CRLF x-amz-trailer-signature:<64 hex>CRLF CRLF
//
// The signatures are there if the payload is signed, and the first line of the trailer if it was announced.
// Data is returned before its signature is verified, so it must not be used before the end was read. Errors other than
// those of the body are of type *objects.Error.
//
// Source: Amazon S3 API reference, "Signature calculations for the Authorization header: transferring payload in
// multiple chunks".
type chunkedReader struct {
	from    *bufio.Reader
	signed  bool
	chunks  *sigv4.ChunkVerifier // nil: signatures are not verified
	trailer string               // the announced name, in lower case; "" if there is none

	value string // of the trailer, after the end

	left      int64     // of the chunk
	begun     bool      // a chunk is being read
	sum       hash.Hash // of the chunk, if it is verified
	signature string    // of the chunk
	err       error     // that ended the reader
}

func newChunkedReader(body io.Reader, signed bool, chunks *sigv4.ChunkVerifier, trailer string) *chunkedReader {
	return &chunkedReader{from: bufio.NewReaderSize(body, copyBuffer/4), signed: signed, chunks: chunks,
		trailer: trailer, sum: sha256.New()}
}

// Read returns decoded data, and io.EOF when all of the body was read and verified.
func (c *chunkedReader) Read(p []byte) (int, error) {
	if c.err == nil && len(p) > 0 && c.left == 0 {
		c.err = c.next()
	}
	if c.err != nil || len(p) == 0 {
		return 0, c.err
	}
	n, err := c.from.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if c.chunks != nil {
		c.sum.Write(p[:n])
	}
	if err != nil {
		c.err = unexpected(err)
	}
	return n, c.err
}

// next ends a chunk and begins the next one. The error is io.EOF after the last one.
func (c *chunkedReader) next() error {
	if c.begun {
		if line, err := c.line(); err != nil || len(line) > 0 {
			return cmpError(err, malformed("a chunk is longer than its size"))
		}
		if err := c.verify(); err != nil {
			return err
		}
	}
	line, err := c.line()
	if err != nil {
		return err
	}
	if err := c.begin(line); err != nil || c.left > 0 {
		return err
	}
	if err := c.verify(); err != nil { // the last chunk, which is empty
		return err
	}
	return c.end()
}

// cmpError returns err, or other if it is nil.
func cmpError(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// begin parses the line before a chunk.
func (c *chunkedReader) begin(line string) error {
	size, extension, extended := strings.Cut(line, ";")
	signature, named := strings.CutPrefix(extension, "chunk-signature=")
	if extended != c.signed || c.signed && !named {
		return malformed("a chunk needs a signature exactly if x-amz-content-sha256 announces signed chunks")
	}
	left, ok := parseHex(size)
	if !ok {
		return malformed("the size of a chunk is no hexadecimal number")
	}
	c.left, c.begun, c.signature = left, true, signature
	return nil
}

// parseHex parses 1 to 16 hexadecimal digits without sign.
func parseHex(s string) (n int64, ok bool) {
	if s == "" || len(s) > 16 {
		return 0, false
	}
	for i := range len(s) {
		digit := strings.IndexByte("0123456789abcdef", s[i]|0x20)
		if digit < 0 || s[i] < '0' || n > math.MaxInt64>>4 {
			return 0, false
		}
		n = n<<4 | int64(digit)
	}
	return n, true
}

// verify verifies the signature of the chunk that was read.
func (c *chunkedReader) verify() error {
	if c.chunks == nil {
		return nil
	}
	var sum [sha256.Size]byte
	c.sum.Sum(sum[:0])
	c.sum.Reset()
	return signatureError(c.chunks.Chunk(sum, c.signature), false)
}

// end parses the trailer. The error is io.EOF at the proper end of the body.
func (c *chunkedReader) end() error {
	if c.trailer != "" {
		if err := c.readTrailer(); err != nil {
			return err
		}
	}
	if line, err := c.line(); err != nil || line != "" {
		return cmpError(err, malformed("the trailer has lines that x-amz-trailer does not announce"))
	}
	switch _, err := c.from.ReadByte(); {
	case errors.Is(err, io.EOF):
		return io.EOF
	case err != nil:
		return err
	}
	return malformed("there is data after the last chunk")
}

func (c *chunkedReader) readTrailer() error {
	line, err := c.line()
	if err != nil {
		return err
	}
	name, value, _ := strings.Cut(line, ":")
	if !strings.EqualFold(strings.TrimSpace(name), c.trailer) {
		return malformed("the trailer lacks " + c.trailer + ", which x-amz-trailer announces")
	}
	c.value = strings.TrimSpace(value)
	if !c.signed {
		return nil
	}
	if line, err = c.line(); err != nil {
		return err
	}
	name, signature, _ := strings.Cut(line, ":")
	if !strings.EqualFold(name, "x-amz-trailer-signature") {
		return malformed("the trailer lacks x-amz-trailer-signature")
	}
	if c.chunks == nil {
		return nil
	}
	sum := sha256.Sum256([]byte(c.trailer + ":" + c.value + "\n"))
	return signatureError(c.chunks.Trailer(sum, strings.TrimSpace(signature)), false)
}

// line reads a line that ends in CRLF, and returns it without.
func (c *chunkedReader) line() (string, error) {
	line, err := c.from.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull) || err == nil && len(line) > maxLine:
		return "", malformed("a line is too long")
	case err != nil:
		return "", unexpected(err)
	}
	text, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok {
		return "", malformed("a line does not end in CRLF")
	}
	return string(text), nil
}

// unexpected converts the end of the body before its proper end.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func malformed(why string) error {
	return objects.Errorf(objects.InvalidRequest, "The body is not in aws-chunked form: %s.", why)
}
