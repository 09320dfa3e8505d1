package query

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A metadata is at the end of answers.
type metadata struct {
	RequestID string `xml:"RequestId"`
}

// A failure is the answer with an error.
type failure struct {
	XMLName xml.Name
	Error   struct {
		Type, Code, Message string
	}
	RequestID string `xml:"RequestId"`
}

// A list is written as an element even if it is empty: clients read it unconditionally.
type list[T any] struct {
	Members []T `xml:"member"`
}

// iso returns a time in the form of the protocol, "" for the zero time.
func iso(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// answer writes the result or the error, and returns the code of the error and the size of the body.
func (h *Handler) answer(w http.ResponseWriter, c *call, result any, err error) (code string, written int) {
	status := http.StatusOK
	var body bytes.Buffer
	if err == nil {
		err = c.encode(&body, result)
	}
	if err != nil {
		f := fault.Of(err)
		code, status = c.codeOf(f.Kind)
		h.logCause(c, f)
		body.Reset()
		_ = xml.NewEncoder(&body).Encode(c.failure(code, status, f.Message)) // texts alone
	}
	header := w.Header()
	header.Set("Content-Type", "text/xml")
	header.Set("Cache-Control", "no-store") // answers contain credentials
	header.Set("X-Amzn-Requestid", c.from.RequestID)
	w.WriteHeader(status)
	if _, err := w.Write(body.Bytes()); err != nil { // the client has disconnected
		h.Log.Debug("answer not written", "err", err)
	}
	return code, body.Len()
}

// encode writes <NameResponse><NameResult>result</NameResult><ResponseMetadata/></NameResponse>. An operation without
// output has no result element.
func (c *call) encode(to *bytes.Buffer, result any) error {
	name := c.operation.name
	outer := xml.StartElement{Name: xml.Name{Space: c.service.namespace, Local: name + "Response"}}
	e := xml.NewEncoder(to)
	if err := e.EncodeToken(outer); err != nil {
		return err
	}
	if result != nil {
		if err := e.EncodeElement(result, startOf(name+"Result")); err != nil {
			return err
		}
	}
	if err := e.EncodeElement(metadata{c.from.RequestID}, startOf("ResponseMetadata")); err != nil {
		return err
	}
	if err := e.EncodeToken(outer.End()); err != nil {
		return err
	}
	return e.Close()
}

func startOf(name string) xml.StartElement { return xml.StartElement{Name: xml.Name{Local: name}} }

func (c *call) failure(code string, status int, message string) *failure {
	f := &failure{XMLName: xml.Name{Space: c.service.namespace, Local: "ErrorResponse"}, RequestID: c.from.RequestID}
	f.Error.Type, f.Error.Code, f.Error.Message = "Sender", code, message
	if status >= http.StatusInternalServerError {
		f.Error.Type = "Receiver"
	}
	return f
}

func (h *Handler) logCause(c *call, f *fault.Error) {
	if f.Err == nil {
		return
	}
	if suppressed, ok := h.lines.Allow("failed"); ok {
		h.Log.Warn("sign-in call failed", "err", f, "request_id", c.from.RequestID, "suppressed", suppressed)
	}
}
