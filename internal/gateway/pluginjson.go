package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// pythonTime is str(datetime) of Python for a time in UTC: with six decimals, or none if they are all zero.
type pythonTime struct{ time.Time }

func (t pythonTime) MarshalText() ([]byte, error) {
	u := t.UTC().Truncate(time.Microsecond)
	layout := "2006-01-02 15:04:05-07:00"
	if u.Nanosecond() != 0 {
		layout = "2006-01-02 15:04:05.000000-07:00"
	}
	return u.AppendFormat(nil, layout), nil
}

// MarshalJSON replaces that of time.Time.
func (t pythonTime) MarshalJSON() ([]byte, error) {
	text, err := t.MarshalText()
	return append(append([]byte{'"'}, text...), '"'), err
}

// A pythonObject is a structure of the API in the JSON of AWS-SAMUEL's gateway: the members of boto3, times as Python
// writes them. Members without a value are omitted, except those in always.
type pythonObject struct {
	shape  any // a pointer to a structure of package wire
	always []string
	only   bool // omit all members but those in always
}

func (o pythonObject) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for field, value := range reflect.ValueOf(o.shape).Elem().Fields() {
		member, present := pythonMember(value)
		if required := slices.Contains(o.always, field.Name); !required && (o.only || !present) {
			continue
		}
		data, err := json.Marshal(member)
		if err != nil {
			return nil, err
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(append(append(text, '"'), field.Name...), '"', ':')
		text = append(text, data...)
	}
	return append(text, '}'), nil
}

// pythonMember returns the value of a member, and whether it has one.
func pythonMember(v reflect.Value) (member any, present bool) {
	switch m := v.Interface().(type) {
	case time.Time:
		return pythonTime{m}, !m.IsZero()
	case wire.Opt[int32]:
		return m.Or(0), m.Or(0) != 0
	case []wire.GameProperty:
		return append([]wire.GameProperty{}, m...), true // never null
	default:
		return m, !v.IsZero()
	}
}

var (
	playerMembers = []string{"PlayerSessionId", "PlayerId", "GameSessionId", "IpAddress", "Port"}
	// sessionMembers are the members that clients of the older interface read.
	sessionMembers = []string{"GameSessionId", "Name", "CurrentPlayerSessionCount", "MaximumPlayerSessionCount"}
)

// playerObject returns a player session for the older interface.
func (c *call) playerObject(p *wire.PlayerSession) pythonObject {
	if c.localStyle() {
		local := *p
		local.GameSessionId, local.FleetId, local.FleetArn = c.g.localID(p.GameSessionId), c.g.localFleet, ""
		p = &local
	}
	return pythonObject{shape: p, always: playerMembers}
}

// sessionObject returns a game session for the older interface.
func (c *call) sessionObject(s *wire.GameSession) pythonObject {
	if c.localStyle() {
		local := *s
		local.GameSessionId, local.FleetId, local.FleetArn = c.g.localID(s.GameSessionId), c.g.localFleet, ""
		s = &local
	}
	return pythonObject{shape: s, always: sessionMembers, only: c.g.fields == FieldsMinimal}
}

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
