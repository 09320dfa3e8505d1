package legacy

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/muster-gg/muster/internal/wire"
)

// messagePrefix begins the full name of a message.
const messagePrefix = "com.amazon.whitewater.auxproxy.pbuffer."

// A message is a request of a game server: the fields of all messages together.
type message struct {
	LogPaths                           []string
	Port, Limit                        int32
	GameSession, PlayerSession, Player string
	Policy, StatusFilter, NextToken    string
	Ticket, Configuration              string
	Healthy                            bool
	Players                            []wire.Player
}

// A field reads a value of a protobuf message into a T. Exactly one of its functions is set, by the type on the wire.
type field[T any] struct {
	text   func(*T, string)
	number func(*T, uint64)
	double func(*T, float64)
	inner  func(*T, []byte) error
}

// A schema has the known fields of a message; others are skipped.
type schema[T any] map[protowire.Number]field[T]

// schemas are the messages, by their short names. Source: sdk.proto of the server SDKs 3.2.1 to 4.0.2.
var schemas = map[string]schema[message]{
	"ProcessReady": {
		1: {text: func(m *message, s string) { m.LogPaths = append(m.LogPaths, s) }},
		2: {number: func(m *message, n uint64) { m.Port = int32(n) }},
	},
	"ProcessEnding":          {},
	"GetInstanceCertificate": {},
	"GameSessionActivate":    {1: gameSessionField},
	"GameSessionTerminate":   {1: gameSessionField},
	"UpdatePlayerSessionCreationPolicy": {
		1: gameSessionField,
		2: {text: func(m *message, s string) { m.Policy = s }},
	},
	"AcceptPlayerSession": {1: gameSessionField, 2: playerSessionField},
	"RemovePlayerSession": {1: gameSessionField, 2: playerSessionField},
	"ReportHealth":        {1: {number: func(m *message, n uint64) { m.Healthy = n != 0 }}},
	"DescribePlayerSessionsRequest": {
		1: gameSessionField,
		2: {text: func(m *message, s string) { m.Player = s }},
		3: playerSessionField,
		4: {text: func(m *message, s string) { m.StatusFilter = s }},
		5: {text: func(m *message, s string) { m.NextToken = s }},
		6: {number: func(m *message, n uint64) { m.Limit = int32(n) }},
	},
	"BackfillMatchmakingRequest": {1: ticketField, 2: gameSessionField, 3: configurationField, 4: {inner: addPlayer}},
	"StopMatchmakingRequest":     {1: ticketField, 2: gameSessionField, 3: configurationField},
}

// names are the names of the messages.
var names = func() map[string]string {
	all := map[string]string{}
	for name := range schemas {
		all[name] = name
	}
	return all
}()

var (
	gameSessionField   = field[message]{text: func(m *message, s string) { m.GameSession = s }}
	playerSessionField = field[message]{text: func(m *message, s string) { m.PlayerSession = s }}
	ticketField        = field[message]{text: func(m *message, s string) { m.Ticket = s }}
	configurationField = field[message]{text: func(m *message, s string) { m.Configuration = s }}
)

var playerSchema = schema[wire.Player]{
	1: {text: func(p *wire.Player, s string) { p.PlayerId = s }},
	2: {inner: addAttribute},
	3: {text: func(p *wire.Player, s string) { p.Team = s }},
	4: {inner: addLatency},
}

// An attribute is AttributeValue of the SDKs: type 1 is a text, 2 a number, 3 a list, 4 a map.
type attribute struct {
	kind uint64
	s    string
	n    float64
	sl   []string
	sdm  map[string]float64
}

var attributeSchema = schema[attribute]{
	1: {number: func(a *attribute, n uint64) { a.kind = n }},
	2: {text: func(a *attribute, s string) { a.s = s }},
	3: {double: func(a *attribute, n float64) { a.n = n }},
	4: {text: func(a *attribute, s string) { a.sl = append(a.sl, s) }},
	5: {inner: func(a *attribute, data []byte) error {
		e, err := decode(entrySchema, data)
		if a.sdm == nil {
			a.sdm = map[string]float64{}
		}
		a.sdm[e.key] = e.double
		return err
	}},
}

// An entry is one of a map.
type entry struct {
	key    string
	value  []byte
	number uint64
	double float64
}

var entrySchema = schema[entry]{
	1: {text: func(e *entry, s string) { e.key = s }},
	2: {
		number: func(e *entry, n uint64) { e.number = n },
		double: func(e *entry, n float64) { e.double = n },
		inner:  func(e *entry, data []byte) error { e.value = data; return nil },
	},
}

func addPlayer(m *message, data []byte) error {
	p, err := decode(playerSchema, data)
	m.Players = append(m.Players, p)
	return err
}

func addLatency(p *wire.Player, data []byte) error {
	e, err := decode(entrySchema, data)
	if p.LatencyInMs == nil {
		p.LatencyInMs = map[string]int32{}
	}
	p.LatencyInMs[e.key] = int32(e.number)
	return err
}

func addAttribute(p *wire.Player, data []byte) error {
	e, err := decode(entrySchema, data)
	if err != nil {
		return err
	}
	a, err := decode(attributeSchema, e.value)
	if p.PlayerAttributes == nil {
		p.PlayerAttributes = map[string]wire.AttributeValue{}
	}
	p.PlayerAttributes[e.key] = a.wire()
	return err
}

func (a *attribute) wire() (v wire.AttributeValue) {
	switch a.kind {
	case 1:
		v.S = a.s
	case 2:
		v.N = wire.Some(a.n)
	case 3:
		v.SL = append([]string{}, a.sl...)
	case 4:
		if v.SDM = a.sdm; v.SDM == nil {
			v.SDM = map[string]float64{}
		}
	}
	return v
}

// parseRequest reads the message of a request. name may be the full or the short one.
func parseRequest(name string, data []byte) (short string, m message, err error) {
	short = strings.TrimPrefix(name, messagePrefix)
	fields, ok := schemas[short]
	if !ok {
		return "", m, fmt.Errorf("unknown message %.100q", name)
	}
	short = names[short] // does not refer to the request, because reports keep it
	if m, err = decode(fields, data); err != nil {
		return short, m, fmt.Errorf("message %s: %w", short, err)
	}
	return short, m, nil
}

var errText = errors.New("a text is not valid UTF-8")

// decode reads a protobuf message. Fields that are unknown, or of another type on the wire, are skipped.
func decode[T any](fields schema[T], data []byte) (v T, err error) {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return v, protowire.ParseError(n)
		}
		data = data[n:]
		size := protowire.ConsumeFieldValue(number, kind, data)
		if size < 0 {
			return v, protowire.ParseError(size)
		}
		if err := fields[number].read(&v, kind, data[:size]); err != nil {
			return v, err
		}
		data = data[size:]
	}
	return v, nil
}

// read passes a value, which is complete, to the function for its type.
func (f field[T]) read(v *T, kind protowire.Type, data []byte) error {
	switch {
	case kind == protowire.VarintType && f.number != nil:
		n, _ := protowire.ConsumeVarint(data)
		f.number(v, n)
	case kind == protowire.Fixed64Type && f.double != nil:
		n, _ := protowire.ConsumeFixed64(data)
		f.double(v, math.Float64frombits(n))
	case kind == protowire.BytesType && f.inner != nil:
		content, _ := protowire.ConsumeBytes(data)
		return f.inner(v, content)
	case kind == protowire.BytesType && f.text != nil:
		content, _ := protowire.ConsumeBytes(data)
		if !utf8.Valid(content) {
			return errText
		}
		f.text(v, string(content))
	}
	return nil
}
