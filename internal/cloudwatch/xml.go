package cloudwatch

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

const xmlNamespace = "http://monitoring.amazonaws.com/doc/2010-08-01/"

// xml returns the answer of the query protocol for an output in JSON.
func (c *call) xml(output []byte) ([]byte, error) {
	w := &xmlWriter{from: json.NewDecoder(bytes.NewReader(output))}
	w.from.UseNumber()
	fmt.Fprintf(&w.to, `<%sResponse xmlns="%s"><%[1]sResult>`, c.name, xmlNamespace)
	if err := w.value(c.operation.output); err != nil {
		return nil, fmt.Errorf("answer in XML: %w", err)
	}
	fmt.Fprintf(&w.to, "</%sResult><ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata></%[1]sResponse>",
		c.name, c.from.RequestID)
	return w.to.Bytes(), nil
}

// An xmlWriter translates JSON.
type xmlWriter struct {
	from *json.Decoder
	to   bytes.Buffer
}

// value translates a value of a type.
func (w *xmlWriter) value(t reflect.Type) error {
	token, err := w.from.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		if err := w.elements(inner(t), token); err != nil {
			return err
		}
		_, err = w.from.Token() // the closing one
		return err
	case json.Number:
		if inner(t) == reflect.TypeFor[time.Time]() {
			seconds, err := strconv.ParseFloat(token.String(), 64)
			w.to.WriteString(time.UnixMilli(int64(seconds * 1000)).UTC().Format("2006-01-02T15:04:05Z"))
			return err
		}
		w.to.WriteString(token.String())
		return nil
	default:
		return xml.EscapeText(&w.to, fmt.Append(nil, token))
	}
}

// elements translates what an object or an array holds.
func (w *xmlWriter) elements(t reflect.Type, delim json.Delim) error {
	for w.from.More() {
		name := "member"
		var element reflect.Type
		if delim == '{' {
			token, err := w.from.Token()
			if err != nil {
				return err
			}
			name = token.(string)
			f, _ := t.FieldByName(name)
			element = f.Type
		} else {
			element = t.Elem()
		}
		w.to.WriteString("<" + name + ">")
		if err := w.value(element); err != nil {
			return err
		}
		w.to.WriteString("</" + name + ">")
	}
	return nil
}
