package legacy

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// The subset of Engine.IO 3 and Socket.IO that the clients use. A text frame begins with the type of Engine.IO, and a
// message with that of Socket.IO. Clients announce Engine.IO 3 or 4 in the URL regardless of what they speak.

// A frameKind says what a text frame of a client is.
type frameKind int

const (
	ignoredFrame frameKind = iota
	pingFrame
	connectFrame // only of clients that speak Engine.IO 4
	leaveFrame   // the client is leaving
	requestFrame // an event; the attachment follows as a binary frame
	ackFrame
)

// A frame is a text frame of a client.
type frame struct {
	kind     frameKind
	data     []byte // of a ping
	id       int64  // of the acknowledgement; -1: none
	event    string // of a request
	attached bool   // the request has an attachment
	accepted bool   // of an acknowledgement: its first argument is true
}

var errFrame = errors.New("not a frame of socket.io")

// parseFrame reads a text frame. The frame refers to text.
func parseFrame(text []byte) (frame, error) {
	if len(text) == 0 {
		return frame{}, errFrame
	}
	switch rest := text[1:]; text[0] {
	case '1':
		return frame{kind: leaveFrame}, nil
	case '2':
		return frame{kind: pingFrame, data: rest}, nil
	case '3', '5', '6': // pong, upgrade, noop
		return frame{}, nil
	case '4':
		return parseMessage(rest)
	}
	return frame{}, errFrame
}

// parseMessage reads what follows the type of Engine.IO: the type of Socket.IO, the number of attachments, the
// namespace, the id of the acknowledgement, and JSON.
func parseMessage(text []byte) (f frame, err error) {
	if len(text) == 0 {
		return f, errFrame
	}
	kind, rest := text[0], text[1:]
	switch kind {
	case '0':
		return frame{kind: connectFrame}, nil
	case '1':
		return frame{kind: leaveFrame}, nil
	case '4':
		return f, nil
	case '2', '3', '5':
	default:
		return f, errFrame
	}
	if kind == '5' {
		if rest, f.attached = bytes.CutPrefix(rest, []byte("1-")); !f.attached {
			return f, errFrame
		}
	}
	if rest, err = cutNamespace(rest); err != nil {
		return f, err
	}
	if f.id, rest, err = cutNumber(rest); err != nil {
		return f, err
	}
	var args []json.RawMessage
	if json.Unmarshal(rest, &args) != nil {
		return f, errFrame
	}
	if kind == '3' {
		f.kind, f.accepted = ackFrame, len(args) > 0 && string(args[0]) == "true"
		return f, nil
	}
	f.kind = requestFrame
	if len(args) == 0 || json.Unmarshal(args[0], &f.event) != nil {
		return f, errFrame
	}
	return f, nil
}

// cutNamespace removes a namespace, which must be the default one.
func cutNamespace(text []byte) ([]byte, error) {
	if len(text) == 0 || text[0] != '/' {
		return text, nil
	}
	rest, ok := bytes.CutPrefix(text, []byte("/,"))
	if !ok {
		return nil, errFrame
	}
	return rest, nil
}

// cutNumber reads a number of up to 15 digits; -1 if there is none.
func cutNumber(text []byte) (n int64, rest []byte, err error) {
	i := 0
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	switch {
	case i == 0:
		return -1, text, nil
	case i > 15:
		return 0, nil, errFrame
	}
	n, err = strconv.ParseInt(string(text[:i]), 10, 64)
	return n, text[i:], err
}

// attachment returns the content of a binary frame: clients that speak Engine.IO 3 put a 4 before it, with which no
// protobuf message begins.
func attachment(data []byte) []byte {
	if len(data) > 0 && data[0] == 4 {
		return data[1:]
	}
	return data
}

// openFrame announces a connection. The SDK for C# needs all four members.
func openFrame(sid string, c *Config) []byte {
	text, _ := json.Marshal(struct { // cannot fail
		SID      string   `json:"sid"`
		Upgrades []string `json:"upgrades"`
		Interval int64    `json:"pingInterval"`
		Timeout  int64    `json:"pingTimeout"`
	}{sid, []string{}, c.PingInterval.Milliseconds(), c.PingTimeout.Milliseconds()})
	return append([]byte{'0'}, text...)
}

// ackOf returns an acknowledgement. All clients read two arguments; C++ may crash with fewer.
func ackOf(id int64, succeeded bool, text string) []byte {
	args, _ := json.Marshal([]any{succeeded, text}) // cannot fail
	return append(strconv.AppendInt([]byte("43"), id, 10), args...)
}

// eventFrame returns a push. With id -1 it asks for no acknowledgement.
func eventFrame(id int64, event, text string) []byte {
	args, _ := json.Marshal([]string{event, text}) // cannot fail
	head := []byte("42")
	if id >= 0 {
		head = strconv.AppendInt(head, id, 10)
	}
	return append(head, args...)
}
