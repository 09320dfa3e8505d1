package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf16"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// writeCompat writes a failure in the format of AWS-SAMUEL's gateway, byte for byte: a JSON string with the API's
// message if the API rejected a player session, and API Gateway's own error otherwise. It returns the status.
func writeCompat(w http.ResponseWriter, f *failure) int {
	status, text := http.StatusBadGateway, `{"message": "Internal server error"}`
	if api := fault.Of(f.err); f.players && api != nil {
		status, text = http.StatusInternalServerError, pythonString(api.Message)
	}
	writeBody(w, status, "application/json", []byte(text))
	return status
}

// pythonString returns a JSON string as Python's json.dumps writes it: ASCII alone.
func pythonString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, unit := range utf16.Encode([]rune(s)) {
		switch {
		case unit == '"' || unit == '\\':
			b.WriteByte('\\')
			b.WriteByte(byte(unit))
		case unit == '\n':
			b.WriteString(`\n`)
		case unit == '\r':
			b.WriteString(`\r`)
		case unit == '\t':
			b.WriteString(`\t`)
		case unit == '\b':
			b.WriteString(`\b`)
		case unit == '\f':
			b.WriteString(`\f`)
		case unit < ' ' || unit > '~' && unit != 0x7f:
			fmt.Fprintf(&b, `\u%04x`, unit)
		default:
			b.WriteByte(byte(unit))
		}
	}
	b.WriteByte('"')
	return b.String()
}
