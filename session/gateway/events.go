package gateway

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// maxEvent is how many bytes a server-sent event may have.
const maxEvent = 1 << 20

var errEventSize = errors.New("an event is too large")

// An event is a server-sent event.
type event struct {
	name string // "message" if it has none
	data string
}

// readEvents calls got with each event of a stream until it returns false or the stream ends, which is io.EOF. It calls
// alive with each line that arrives, comments included. Source: HTML standard, server-sent events, "Interpreting an
// event stream".
func readEvents(stream io.Reader, alive func(), got func(event) bool) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxEvent)
	var name string
	var data []string
	size := 0
	for lines.Scan() {
		alive()
		line := strings.TrimSuffix(lines.Text(), "\r")
		if line == "" {
			if data != nil && !got(event{name, strings.Join(data, "\n")}) {
				return nil
			}
			name, data, size = "", nil, 0
			continue
		}
		if size += len(line); size > maxEvent {
			return errEventSize
		}
		switch field, value, _ := strings.Cut(line, ":"); field {
		case "event":
			name = strings.TrimPrefix(value, " ")
		case "data":
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.EOF
}
