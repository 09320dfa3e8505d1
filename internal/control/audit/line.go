package audit

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/klauspost/compress/s2"
)

// A message is what the journal stores as one record of its own: lines of JSON, compressed with S2, because most texts
// of a record are those of the one before it.
type message struct {
	id     string
	data   []byte
	weight int // for how many calls it stands
}

const (
	// batchRecords and batchBytes are how much one message contains. The last record may exceed the bytes, and the
	// journal accepts 4 MiB.
	batchRecords = 256
	batchBytes   = 1 << 20
)

// encode makes messages of records, which it completes. It returns scratch, grown, to be used again.
func encode(records []Record, scratch []byte) (messages []message, grown []byte) {
	scratch = scratch[:0]
	weight := 0
	for i := range records {
		r := &records[i]
		r.complete()
		scratch = append(r.appendLine(scratch), '\n')
		if r.Name != gapName { // what was dropped has been counted
			weight += r.weight()
		}
		if len(scratch) >= batchBytes || i == len(records)-1 {
			messages = append(messages, message{uuid.NewString(), s2.Encode(nil, scratch), weight})
			scratch, weight = scratch[:0], 0
		}
	}
	return messages, scratch
}

// complete gives the record the form in which it is stored.
func (r *Record) complete() {
	r.clipLists()
	r.Time = r.Time.UTC().Truncate(time.Millisecond)
	if r.ID == "" {
		r.ID = uuid.NewString()
	}
}

// appendLine appends the record as encoding/json encodes it, with the fields that are the same in all records, and
// without its escapes for HTML. Reflection would take a tenth of the processor time of a recorded call.
func (r *Record) appendLine(dst []byte) []byte {
	o := object{dst: append(dst, '{')}
	o.text("eventVersion", "1.11")
	o.key("eventTime")
	o.dst = append(r.Time.AppendFormat(append(o.dst, '"'), time.RFC3339Nano), '"')
	o.text("eventID", r.ID)
	o.text("eventName", r.Name)
	o.text("eventSource", r.Source)
	o.text("eventType", r.Type)
	o.text("awsRegion", r.Region)
	o.optional("recipientAccountId", r.Account)
	o.text("sourceIPAddress", r.Address)
	o.optional("userAgent", r.UserAgent)
	o.begin("userIdentity")
	o.identity(&r.Identity)
	o.end()
	o.optional("requestID", r.RequestID)
	o.truth("readOnly", r.ReadOnly)
	o.optional("errorCode", r.ErrorCode)
	o.optional("errorMessage", r.ErrorMessage)
	if len(r.Resources) > 0 {
		o.key("resources")
		o.dst = r.Resources.appendTo(o.dst)
	}
	o.details(r.Details)
	o.decision(&r.Decision)
	if r.Count != 0 {
		o.key("count")
		o.dst = strconv.AppendInt(o.dst, int64(r.Count), 10)
	}
	o.text("eventCategory", "Management")
	o.truth("managementEvent", true)
	return append(o.dst, '}')
}

func (o *object) identity(i *Identity) {
	o.text("type", i.Type)
	o.optional("principalId", i.PrincipalID)
	o.optional("arn", i.Arn)
	o.optional("accountId", i.Account)
	o.optional("accessKeyId", i.AccessKey)
	o.optional("userName", i.User)
	if i.Session == (Session{}) {
		return
	}
	o.begin("sessionContext")
	o.optional("sourceIdentity", i.SourceIdentity)
	o.optional("sessionId", i.SignIn)
	o.optional("role", i.Role)
	o.end()
}

// decision appends a decision, if there was one.
func (o *object) decision(d *Decision) {
	if *d == (Decision{}) {
		return
	}
	o.begin("decision")
	o.truth("allowed", d.Allowed)
	o.optional("policy", d.Policy)
	o.optional("statement", d.Statement)
	o.end()
}

// appendTo appends CloudTrail's list of resources: each is an object with an ARN.
func (a ARNs) appendTo(dst []byte) []byte {
	dst = append(dst, '[')
	for i, arn := range a {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(append(dst, `{"ARN":`...), arn), '}')
	}
	return append(dst, ']')
}

// An object is a JSON object being written. Keys need no escapes.
type object struct{ dst []byte }

func (o *object) key(name string) {
	if o.dst[len(o.dst)-1] != '{' {
		o.dst = append(o.dst, ',')
	}
	o.dst = append(append(append(o.dst, '"'), name...), '"', ':')
}

func (o *object) text(name, value string) {
	o.key(name)
	o.dst = appendText(o.dst, value)
}

// optional leaves out an empty text.
func (o *object) optional(name, value string) {
	if value != "" {
		o.text(name, value)
	}
}

func (o *object) truth(name string, value bool) {
	o.key(name)
	o.dst = strconv.AppendBool(o.dst, value)
}

// begin begins an object that is a member.
func (o *object) begin(name string) {
	o.key(name)
	o.dst = append(o.dst, '{')
}

func (o *object) end() { o.dst = append(o.dst, '}') }

// details appends the parameters in the order of their names, unless there are none.
func (o *object) details(details map[string]string) {
	if len(details) == 0 {
		return
	}
	o.begin("requestParameters")
	for i, name := range slices.Sorted(maps.Keys(details)) {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		o.dst = appendText(append(appendText(o.dst, name), ':'), details[name])
	}
	o.end()
}

// appendText appends a JSON text. Nearly all are ASCII without characters to escape.
func appendText(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return appendEscaped(dst, text)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}

func appendEscaped(dst []byte, text string) []byte {
	var quoted bytes.Buffer
	out := json.NewEncoder(&quoted)
	out.SetEscapeHTML(false)
	if out.Encode(text) != nil { // not of a text
		return append(dst, `""`...)
	}
	return append(dst, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}
