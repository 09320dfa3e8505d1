package bench

import (
	"bytes"
	"strconv"
)

func appendNumber(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }

// appendField appends a member of a JSON object: "name":"value", with a comma before all but the first. Values are ids
// and names that need no escaping.
func appendField(dst []byte, name, value string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	dst = append(dst, `":"`...)
	dst = append(dst, value...)
	return append(dst, '"')
}

// textMember returns the value of the first member with this name, at any depth of a JSON text; "" if there is none.
// The value must need no escapes.
func textMember(text []byte, name string) string {
	for {
		text = member(text, name)
		if text == nil {
			return ""
		}
		if value, isText := bytes.CutPrefix(text, []byte(`"`)); isText {
			value, _, _ = bytes.Cut(value, []byte(`"`))
			return string(value)
		}
	}
}

// member returns the text after the colon of the first member with this name; nil if there is none.
func member(text []byte, name string) []byte {
	for {
		i := bytes.Index(text, []byte(name))
		if i < 0 {
			return nil
		}
		quoted := i > 0 && text[i-1] == '"'
		text = text[i+len(name):]
		rest, closed := bytes.CutPrefix(text, []byte(`"`))
		rest, isMember := bytes.CutPrefix(bytes.TrimLeft(rest, space), []byte(":"))
		if quoted && closed && isMember {
			return bytes.TrimLeft(rest, space)
		}
	}
}

const space = " \t\r\n"
