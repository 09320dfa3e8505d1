package logring

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"
)

// A Line is what GET /v1/logs answers about a line.
type Line struct {
	Time    time.Time `json:"time"`
	Level   string    `json:"level"` // DEBUG, INFO, WARN or ERROR
	Message string    `json:"msg"`
	Facts   []Fact    `json:"-"`
}

// A Fact is another member of a line. The value is JSON.
type Fact struct{ Name, Value string }

// Parse parses a line.
func Parse(text []byte) (l Line, err error) {
	if err := json.Unmarshal(text, &l); err != nil {
		return l, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	_, err = d.Token()
	for err == nil && d.More() {
		var value json.RawMessage
		var name json.Token
		name, err = d.Token()
		if err = errors.Join(err, d.Decode(&value)); err != nil {
			return l, err
		}
		switch name {
		case "position", "time", "level", "msg":
		default:
			l.Facts = append(l.Facts, Fact{name.(string), string(value)})
		}
	}
	return l, err
}
