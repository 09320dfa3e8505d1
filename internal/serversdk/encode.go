package serversdk

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mailru/easyjson/jwriter"
	"github.com/muster-gg/muster/internal/processes"
)

// The JSON here is readable by every SDK: exact case of names, whole numbers and never null for numbers, {} and [] if
// empty. Source: server SDK 5, the C++ edition's JsonHelper, which accepts no other form.

// A reply answers one request. No message means success.
type reply struct {
	action, id string
	status     int
	message    string
}

// A result is the content of a successful reply besides the envelope.
type result interface{ appendTo(w *object) }

// appendTo appends the reply with its result, which may be nil.
func (r reply) appendTo(dst []byte, res result) []byte {
	dst = appendText(append(dst, `{"Action":`...), r.action)
	dst = appendText(append(dst, `,"RequestId":`...), r.id)
	dst = strconv.AppendInt(append(dst, `,"StatusCode":`...), int64(r.status), 10)
	if r.message != "" {
		dst = appendText(append(dst, `,"ErrorMessage":`...), r.message)
	}
	if res == nil {
		return append(dst, '}')
	}
	w := newObject()
	res.appendTo(w)
	dst = append(dst, ',')
	return append(dst, w.bytes()[len("{"):]...)
}

// appendText appends a JSON string.
func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' { // may need escapes
			w := jwriter.Writer{NoEscapeHTML: true}
			w.String(s)
			data, _ := w.BuildBytes() // cannot fail
			return append(dst, data...)
		}
	}
	dst = append(append(dst, '"'), s...)
	return append(dst, '"')
}

// certificate answers GetComputeCertificate.
type certificate struct{ path, compute string }

func (c certificate) appendTo(w *object) {
	w.text("CertificatePath", c.path)
	w.text("ComputeName", c.compute)
}

// backfillTicket answers StartMatchBackfill with the id of the ticket.
type backfillTicket string

func (t backfillTicket) appendTo(w *object) { w.text("TicketId", string(t)) }

// roleCredentials answers GetFleetRoleCredentials. Those of a fleet without a role are empty: after an empty
// AccessKeyId the SDKs do not ask again.
type roleCredentials processes.RoleKeys

func roleCredentialsOf(k *processes.RoleKeys) roleCredentials {
	if k == nil {
		return roleCredentials{}
	}
	return roleCredentials(*k)
}

func (k roleCredentials) appendTo(w *object) {
	w.text("AssumedRoleUserArn", k.AssumedRoleUserArn)
	w.text("AssumedRoleId", k.AssumedRoleID)
	w.text("AccessKeyId", k.AccessKeyID)
	w.text("SecretAccessKey", k.SecretAccessKey)
	w.text("SessionToken", k.SessionToken)
	expiration := int64(0)
	if !k.Expires.IsZero() {
		expiration = k.Expires.UnixMilli()
	}
	w.integer("Expiration", expiration)
}

// playerSessions answers DescribePlayerSessions.
type playerSessions processes.PlayerSessionPage

func (p playerSessions) appendTo(w *object) {
	if p.NextToken != "" {
		w.text("NextToken", p.NextToken)
	}
	w.name("PlayerSessions")
	w.out.RawByte('[')
	for i, ps := range p.PlayerSessions {
		if i > 0 {
			w.out.RawByte(',')
		}
		w.begin()
		w.text("PlayerId", ps.PlayerID)
		w.text("PlayerSessionId", ps.PlayerSessionID)
		w.text("GameSessionId", ps.GameSessionID)
		w.text("FleetId", ps.FleetID)
		w.text("PlayerData", ps.PlayerData)
		w.text("IpAddress", ps.IPAddress)
		w.text("DnsName", ps.DNSName)
		w.integer("Port", int64(ps.Port))
		w.time("CreationTime", ps.CreationTime)
		w.time("TerminationTime", ps.TerminationTime)
		w.text("Status", ps.Status)
		w.end()
	}
	w.out.RawByte(']')
	w.comma = true
}

// encodePush encodes a push and returns its action. It has neither RequestId nor StatusCode: with a RequestId alone
// every SDK treats it as a reply.
func encodePush(p processes.Push) (action string, data []byte) {
	w := newObject()
	switch p := p.(type) {
	case processes.CreateGameSessionPush:
		action = "CreateGameSession"
		w.text("Action", action)
		w.text("GameSessionId", p.GameSessionID)
		w.text("GameSessionName", p.Name)
		gameSession(w, p)
	case processes.UpdateGameSessionPush:
		action = "UpdateGameSession"
		w.text("Action", action)
		updatedGameSession(w, p)
		w.text("UpdateReason", p.UpdateReason)
		w.text("BackfillTicketId", p.BackfillTicketID)
	case processes.TerminateProcessPush:
		action = "TerminateProcess"
		w.text("Action", action)
		w.time("TerminationTime", p.TerminationTime)
	case processes.RefreshConnectionPush:
		action = "RefreshConnection"
		w.text("Action", action)
		w.text("RefreshConnectionEndpoint", p.Endpoint)
		w.text("AuthToken", p.AuthToken)
	}
	return action, w.bytes()
}

// updatedGameSession writes the game session of an UpdateGameSession push, including its fleet, which the SDKs add only
// on creation.
func updatedGameSession(w *object, p processes.UpdateGameSessionPush) {
	w.name("GameSession")
	w.begin()
	w.text("GameSessionId", p.GameSession.GameSessionID)
	w.text("Name", p.GameSession.Name)
	w.text("FleetId", p.FleetID)
	w.text("Location", p.Location)
	w.text("Status", p.Status)
	w.text("StatusReason", p.StatusReason)
	gameSession(w, p.GameSession)
	w.end()
}

// gameSession writes the common fields of both pushes.
func gameSession(w *object, p processes.CreateGameSessionPush) {
	w.integer("MaximumPlayerSessionCount", int64(p.MaximumPlayerSessionCount))
	w.text("IpAddress", p.IPAddress)
	w.integer("Port", int64(p.Port))
	w.text("DnsName", p.DNSName)
	w.text("GameSessionData", p.GameSessionData)
	w.text("MatchmakerData", p.MatchmakerData)
	w.name("GameProperties")
	w.begin()
	for _, key := range slices.Sorted(maps.Keys(p.GameProperties)) {
		w.text(key, p.GameProperties[key])
	}
	w.end()
}

// An object writes a JSON object, and objects within it.
type object struct {
	out   jwriter.Writer
	comma bool // before the next member
}

func newObject() *object {
	w := &object{out: jwriter.Writer{NoEscapeHTML: true}}
	w.begin()
	return w
}

func (w *object) begin() {
	w.out.RawByte('{')
	w.comma = false
}

func (w *object) end() {
	w.out.RawByte('}')
	w.comma = true
}

func (w *object) name(name string) {
	if w.comma {
		w.out.RawByte(',')
	}
	w.comma = true
	w.out.String(name)
	w.out.RawByte(':')
}

func (w *object) text(name, value string) {
	w.name(name)
	w.out.String(value)
}

func (w *object) integer(name string, value int64) {
	w.name(name)
	w.out.Int64(value)
}

// time writes milliseconds since 1970; 0 for the zero time.
func (w *object) time(name string, t time.Time) {
	if t.IsZero() {
		w.integer(name, 0)
		return
	}
	w.integer(name, t.UnixMilli())
}

// bytes ends the object and returns it.
func (w *object) bytes() []byte {
	w.end()
	data, _ := w.out.BuildBytes() // cannot fail
	return data
}
