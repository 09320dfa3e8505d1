package s3

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/objects"
)

// timeLayout is the form of times in XML.
const timeLayout = "2006-01-02T15:04:05.000Z"

func xmlTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// xml answers with a document.
func (q *request) xml(status int, document any) {
	var b bytes.Buffer
	if !q.begun {
		b.WriteString(xml.Header)
	}
	if err := xml.NewEncoder(&b).Encode(document); err != nil {
		panic(err) // of a type that cannot be encoded
	}
	if !q.begun {
		q.w.Header().Set("Content-Type", "application/xml")
		q.w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	}
	_ = q.answer(status, b.Bytes())
}

// keepWaiting keeps a client from giving up on an answer: it begins the answer, or sends a space, which XML ignores. An
// error is then an answer with status 200, as S3's.
func (q *request) keepWaiting() {
	space := " "
	if !q.begun {
		q.w.Header().Set("Content-Type", "application/xml")
		space = xml.Header
	}
	_ = q.answer(http.StatusOK, []byte(space))
	q.begun = true
	_ = q.conn.Flush()
}

// answer writes an answer.
func (q *request) answer(status int, body []byte) error {
	_ = q.conn.SetWriteDeadline(time.Now().Add(stallTime))
	if !q.begun {
		q.w.WriteHeader(status)
	}
	n, _ := q.w.Write(body) // the client may have closed the connection
	q.out += int64(n)
	return nil
}

// readXML decodes a document of a body.
func readXML(body []byte, into any) error {
	if err := xml.Unmarshal(body, into); err != nil {
		return &objects.Error{Code: objects.MalformedXML, Err: err,
			Message: "The XML you provided was not well-formed or did not validate against our published schema."}
	}
	return nil
}

// A checksums is the elements of checksums in a document.
type checksums struct {
	CRC32     string `xml:"ChecksumCRC32,omitempty"`
	CRC32C    string `xml:"ChecksumCRC32C,omitempty"`
	CRC64NVME string `xml:"ChecksumCRC64NVME,omitempty"`
	SHA1      string `xml:"ChecksumSHA1,omitempty"`
	SHA256    string `xml:"ChecksumSHA256,omitempty"`
}

func (c *checksums) field(a objects.Algorithm) *string {
	switch a {
	case objects.CRC32:
		return &c.CRC32
	case objects.CRC32C:
		return &c.CRC32C
	case objects.CRC64NVME:
		return &c.CRC64NVME
	case objects.SHA1:
		return &c.SHA1
	case objects.SHA256:
		return &c.SHA256
	default:
		return new(string)
	}
}

func checksumsOf(values map[string]string) (c checksums) {
	for a, value := range values {
		*c.field(objects.Algorithm(a)) = value
	}
	return c
}

// checksumType returns whether a checksum covers the bytes, or the checksums of parts.
func checksumType(value string) string {
	if strings.Contains(value, "-") {
		return "COMPOSITE"
	}
	return "FULL_OBJECT"
}

// setChecksums sets the headers of checksums.
func setChecksums(h http.Header, values map[string]string) {
	for a, value := range values {
		h.Set(checksumHeader+a, value)
		h.Set(checksumHeader+"Type", checksumType(value))
	}
}

func quoted(etag string) string { return `"` + etag + `"` }

func unquoted(etag string) string { return strings.Trim(etag, `"`) }

// escapeKey encodes a key for a list with encoding-type=url.
func escapeKey(s string) string {
	return strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(s))
}
