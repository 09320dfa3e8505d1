package bench

import (
	"bytes"
	"strconv"
)

func appendNumber(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }

// appendField appends a member of a JSON object: "name":"value", with a comma
// before it unless it is the first. The values are ids and names that a service
// or this package has made; they need no escaping.
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

// textMember is the value of the first member with this name, anywhere in a JSON
// text; "" if there is none. The value must need no escapes, as ids do.
func textMember(text []byte, name string) string {
	for {
		i := bytes.Index(text, []byte(`"`+name+`"`))
		if i < 0 {
			return ""
		}
		text = bytes.TrimLeft(text[i+len(name)+2:], " \t\r\n")
		rest, isMember := bytes.CutPrefix(text, []byte(":"))
		if !isMember {
			continue
		}
		if value, isText := bytes.CutPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(`"`)); isText {
			value, _, _ = bytes.Cut(value, []byte(`"`))
			return string(value)
		}
	}
}
