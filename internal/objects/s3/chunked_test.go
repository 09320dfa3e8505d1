package s3

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/muster-gg/muster/internal/objects"
)

const sumTrailer = "x-amz-checksum-crc32"

func TestChunkedReader(t *testing.T) {
	const signature = ";chunk-signature=00"
	for _, test := range []struct {
		name, body      string
		signed, trailer bool
		data, value     string
		ok              bool
	}{
		{name: "empty", body: "0\r\n\r\n", ok: true},
		{name: "chunks", body: "3\r\nabc\r\n00a\r\n0123456789\r\n0\r\n\r\n", data: "abc0123456789", ok: true},
		{name: "upper case", body: "A\r\n0123456789\r\n000\r\n\r\n", data: "0123456789", ok: true},
		{name: "signed", signed: true, body: "3" + signature + "\r\nabc\r\n0" + signature + "\r\n\r\n", data: "abc",
			ok: true},
		{name: "trailer", trailer: true, body: "1\r\na\r\n0\r\n" + sumTrailer + ":AA==\r\n\r\n", data: "a",
			value: "AA==", ok: true},
		{name: "trailer in capitals", trailer: true, body: "0\r\nX-Amz-Checksum-CRC32: AA== \r\n\r\n", value: "AA==",
			ok: true},
		{name: "signed trailer", signed: true, trailer: true, body: "0" + signature + "\r\n" + sumTrailer +
			":AA==\r\nx-amz-trailer-signature:00\r\n\r\n", value: "AA==", ok: true},
		{name: "nothing", body: ""},
		{name: "no last chunk", body: "1\r\na\r\n"},
		{name: "no last line", body: "1\r\na\r\n0\r\n"},
		{name: "short chunk", body: "9\r\na\r\n0\r\n\r\n"},
		{name: "long chunk", body: "1\r\nab\r\n0\r\n\r\n"},
		{name: "LF", body: "1\na\n0\n\n"},
		{name: "no size", body: "\r\n\r\n"},
		{name: "sign", body: "+1\r\na\r\n0\r\n\r\n"},
		{name: "negative", body: "-1\r\na\r\n0\r\n\r\n"},
		{name: "prefix", body: "0x1\r\na\r\n0\r\n\r\n"},
		{name: "separator", body: "1_0\r\na\r\n0\r\n\r\n"},
		{name: "huge", body: "7fffffffffffffffff\r\n"},
		{name: "overflow", body: "ffffffffffffffff\r\n"},
		{name: "long line", body: strings.Repeat("0", 2000) + "\r\n\r\n"},
		{name: "signature unasked", body: "0" + signature + "\r\n\r\n"},
		{name: "no signature", signed: true, body: "0\r\n\r\n"},
		{name: "other extension", signed: true, body: "0;a=b\r\n\r\n"},
		{name: "trailer unasked", body: "0\r\n" + sumTrailer + ":AA==\r\n\r\n"},
		{name: "no trailer", trailer: true, body: "0\r\n\r\n"},
		{name: "other trailer", trailer: true, body: "0\r\nx-amz-meta-a:AA==\r\n\r\n"},
		{name: "two trailers", trailer: true, body: "0\r\n" + sumTrailer + ":AA==\r\na:b\r\n\r\n"},
		{name: "no signature of the trailer", signed: true, trailer: true, body: "0" + signature + "\r\n" + sumTrailer +
			":AA==\r\n\r\n"},
		{name: "more", body: "0\r\n\r\nGET / HTTP/1.1"},
	} {
		trailer := ""
		if test.trailer {
			trailer = sumTrailer
		}
		whole := strings.NewReader(test.body)
		for _, body := range []io.Reader{whole, iotest.OneByteReader(strings.NewReader(test.body))} {
			c := newChunkedReader(body, test.signed, nil, trailer)
			data, err := io.ReadAll(c)
			switch {
			case test.ok && (err != nil || string(data) != test.data || c.value != test.value):
				t.Errorf("%s: %q, %q, %v", test.name, data, c.value, err)
			case !test.ok && !errors.Is(err, io.ErrUnexpectedEOF) && objects.CodeOf(err) != objects.InvalidRequest:
				t.Errorf("%s: %q, %v", test.name, data, err)
			}
			if n, again := c.Read(make([]byte, 9)); n != 0 || again == nil {
				t.Errorf("%s: then %d, %v", test.name, n, again)
			}
		}
	}
	broken := errors.New("broken")
	c := newChunkedReader(io.MultiReader(strings.NewReader("9\r\nab"), iotest.ErrReader(broken)), false, nil, "")
	if _, err := io.ReadAll(c); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// FuzzChunked checks that the decoder accepts a body only if it consists of what it returned.
func FuzzChunked(f *testing.F) {
	f.Add([]byte("3\r\nabc\r\n0\r\n\r\n"), false, false)
	f.Add([]byte("3;chunk-signature=00\r\nabc\r\n0;chunk-signature=00\r\n\r\n"), true, false)
	f.Add([]byte("0\r\nx-amz-checksum-crc32:AA==\r\n\r\n"), false, true)
	f.Add([]byte("0;chunk-signature=\r\nx-amz-checksum-crc32:\r\nx-amz-trailer-signature:\r\n\r\n"), true, true)
	f.Fuzz(func(t *testing.T, body []byte, signed, trailed bool) {
		trailer := ""
		if trailed {
			trailer = sumTrailer
		}
		c := newChunkedReader(iotest.HalfReader(bytes.NewReader(body)), signed, nil, trailer)
		data, err := io.ReadAll(c)
		if err != nil {
			if !errors.Is(err, io.ErrUnexpectedEOF) && objects.CodeOf(err) != objects.InvalidRequest {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		if want := plainDecode(body); !bytes.Equal(data, want) {
			t.Errorf("%q gives %q, want %q", body, data, want)
		}
		if trailed && !bytes.Contains(body, []byte(c.value)) {
			t.Errorf("%q has no trailer %q", body, c.value)
		}
	})
}

// plainDecode decodes a valid body, all of which is in memory.
func plainDecode(body []byte) (data []byte) {
	for {
		line, rest, _ := bytes.Cut(body, []byte("\r\n"))
		size, _, _ := strings.Cut(string(line), ";")
		n, err := strconv.ParseUint(size, 16, 63)
		if err != nil || n == 0 || n > uint64(len(rest)) {
			return data
		}
		data, body = append(data, rest[:n]...), rest[n+2:]
	}
}
