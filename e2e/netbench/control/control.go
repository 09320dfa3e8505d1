// Package control is how the program talks with the processes that it starts: itself as a server and as a load, or
// another program that keeps to this.
//
// The child writes one line of JSON when it is ready. Then it answers each line that it reads, which is a command, with
// one line of JSON. It ends after the command "quit", or when there is nothing more to read, so that no child is left
// behind. When it cannot go on it says why on standard error and exits.
package control

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Commands that children understand.
const (
	Report  = "report"  // answer what you have counted until now
	Collect = "collect" // the same, after a garbage collection: servers alone
	Quit    = "quit"    // end
)

// Ready is what a server says when clients can connect.
type Ready struct {
	Address string `json:"address"` // host:port
}

// Answer is the child's side: it says that it is ready, then it answers commands until it is to end.
func Answer(commands io.Reader, answers io.Writer, ready any, answer func(command string) (any, error)) error {
	out := json.NewEncoder(answers)
	if err := out.Encode(ready); err != nil {
		return err
	}
	lines := bufio.NewScanner(commands)
	for lines.Scan() {
		command := lines.Text()
		if command == Quit {
			return nil
		}
		a, err := answer(command)
		if err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return lines.Err()
}
