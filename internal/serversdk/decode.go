package serversdk

import (
	"math"
	"strconv"
	"strings"

	"github.com/mailru/easyjson/jlexer"

	"github.com/muster-gg/muster/internal/wire"
)

// A request is a message of a server process: the envelope and the fields of all actions together, because the action
// need not come first. A missing or null field has its zero value; the SDKs differ in which they send.
type request struct {
	Action, RequestID string

	SDKVersion, SDKLanguage, SDKToolName, SDKToolVersion      string
	GameSessionID, PlayerSessionID, PlayerID                  string
	GameSessionArn, ConfigurationArn, TicketID                string
	PlayerSessionPolicy, PlayerSessionStatusFilter, NextToken string
	RoleArn, RoleSessionName                                  string
	LogPaths                                                  []string
	Port, Limit                                               int32
	HealthStatus                                              bool
	Players                                                   []wire.Player

	hosted   string // see decodeRequest
	badField string // first field with a value of the wrong type; "" if none
}

// decodeRequest reads a message. It fails if data is no JSON object; unknown fields are skipped. Names match in any
// case, and the last of several wins. The request does not refer to data. hosted is the game session likely to be
// named; it only saves copies.
func decodeRequest(data []byte, hosted string) (request, error) {
	r := request{hosted: hosted}
	l := jlexer.Lexer{Data: data}
	l.Delim('{')
	for !l.IsDelim('}') {
		name := l.UnsafeFieldName(false) // points into data
		l.WantColon()
		switch {
		case l.IsNull():
			l.Skip()
		case !r.field(name, &l):
			if known := fieldNamed(name); known == "" || !r.field(known, &l) {
				l.SkipRecursive()
			}
		}
		l.WantComma()
	}
	l.Delim('}')
	l.Consumed()
	return r, l.Error()
}

// fieldNames are the known fields.
var fieldNames = []string{
	"Action", "RequestId", "SdkVersion", "SdkLanguage", "SdkToolName", "SdkToolVersion", "GameSessionId",
	"PlayerSessionId", "PlayerId", "PlayerSessionPolicy", "PlayerSessionStatusFilter", "NextToken", "LogPaths", "Port",
	"Limit", "HealthStatus",
	"GameSessionArn", "MatchmakingConfigurationArn", "TicketId", "Players", "RoleArn", "RoleSessionName",
}

// actions are the most frequent ones.
var actions = []string{
	"AcceptPlayerSession", "RemovePlayerSession", "HeartbeatServerProcess", "ActivateGameSession",
	"ActivateServerProcess",
	"TerminateServerProcess", "UpdatePlayerSessionCreationPolicy", "DescribePlayerSessions",
}

// fieldNamed returns the field that equals a name except for case.
func fieldNamed(name string) string {
	for _, known := range fieldNames {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	return ""
}

// field reads the value of a field; false, with nothing read, if there is no field of exactly this name.
func (r *request) field(name string, l *jlexer.Lexer) bool {
	switch name {
	case "Action":
		r.known(&r.Action, "Action", l, actions...)
	case "RequestId":
		r.text(&r.RequestID, "RequestId", l)
	case "SdkVersion":
		r.text(&r.SDKVersion, "SdkVersion", l)
	case "SdkLanguage":
		r.text(&r.SDKLanguage, "SdkLanguage", l)
	case "SdkToolName":
		r.text(&r.SDKToolName, "SdkToolName", l)
	case "SdkToolVersion":
		r.text(&r.SDKToolVersion, "SdkToolVersion", l)
	case "GameSessionId":
		r.known(&r.GameSessionID, "GameSessionId", l, r.hosted)
	case "PlayerSessionId":
		r.text(&r.PlayerSessionID, "PlayerSessionId", l)
	case "PlayerId":
		r.text(&r.PlayerID, "PlayerId", l)
	case "PlayerSessionPolicy":
		r.text(&r.PlayerSessionPolicy, "PlayerSessionPolicy", l)
	case "PlayerSessionStatusFilter":
		r.text(&r.PlayerSessionStatusFilter, "PlayerSessionStatusFilter", l)
	case "NextToken":
		r.text(&r.NextToken, "NextToken", l)
	case "LogPaths":
		r.texts(&r.LogPaths, "LogPaths", l)
	case "Port":
		r.number(&r.Port, "Port", l)
	case "Limit":
		r.number(&r.Limit, "Limit", l)
	case "HealthStatus":
		r.truth(&r.HealthStatus, "HealthStatus", l)
	case "GameSessionArn":
		r.known(&r.GameSessionArn, "GameSessionArn", l, r.hosted)
	case "MatchmakingConfigurationArn":
		r.text(&r.ConfigurationArn, "MatchmakingConfigurationArn", l)
	case "RoleArn":
		r.text(&r.RoleArn, "RoleArn", l)
	case "RoleSessionName":
		r.text(&r.RoleSessionName, "RoleSessionName", l)
	case "TicketId":
		r.text(&r.TicketID, "TicketId", l)
	case "Players":
		r.players(l)
	default:
		return false
	}
	return true
}

// misread skips a value of the wrong type and records its field for the error.
func (r *request) misread(name string, l *jlexer.Lexer) {
	if r.badField == "" {
		r.badField = name
	}
	l.SkipRecursive()
}

func (r *request) text(to *string, name string, l *jlexer.Lexer) {
	if l.CurrentToken() != jlexer.TokenString {
		r.misread(name, l)
		return
	}
	*to = l.String()
}

// known is text for a value that is probably one of likely, to save copying it.
func (r *request) known(to *string, name string, l *jlexer.Lexer, likely ...string) {
	if l.CurrentToken() != jlexer.TokenString {
		r.misread(name, l)
		return
	}
	value := l.UnsafeString() // points into the message
	for _, s := range likely {
		if s == value {
			*to = s
			return
		}
	}
	*to = strings.Clone(value)
}

func (r *request) texts(to *[]string, name string, l *jlexer.Lexer) {
	if !l.IsDelim('[') {
		r.misread(name, l)
		return
	}
	*to = nil
	l.Delim('[')
	for !l.IsDelim(']') {
		var item string
		if l.IsNull() {
			l.Skip()
		} else {
			r.text(&item, name, l)
		}
		if item != "" {
			*to = append(*to, item)
		}
		l.WantComma()
	}
	l.Delim(']')
}

func (r *request) number(to *int32, name string, l *jlexer.Lexer) {
	if l.CurrentToken() != jlexer.TokenNumber {
		r.misread(name, l)
		return
	}
	// Some JSON encoders write whole numbers with a zero fraction.
	f, err := strconv.ParseFloat(string(l.JsonNumber()), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		if r.badField == "" {
			r.badField = name
		}
		return
	}
	*to = int32(f)
}

func (r *request) truth(to *bool, name string, l *jlexer.Lexer) {
	if l.CurrentToken() != jlexer.TokenBool {
		r.misread(name, l)
		return
	}
	*to = l.Bool()
}
