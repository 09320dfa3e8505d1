package table

import (
	"bytes"
	"fmt"
	"os"
)

// The marks between which the table stands in the documentation.
const (
	begin = "<!-- table of make bench-net: begin -->\n"
	end   = "<!-- table of make bench-net: end -->\n"
)

// Write puts a table into a page, between its marks.
func Write(path, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if page, err = replace(page, text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, page, 0o666)
}

func replace(page []byte, text string) ([]byte, error) {
	before, rest, begins := bytes.Cut(page, []byte(begin))
	_, after, ends := bytes.Cut(rest, []byte(end))
	if !begins || !ends {
		return nil, fmt.Errorf("it has no marks %q and %q", begin, end)
	}
	return bytes.Join([][]byte{before, []byte(begin), []byte(text), []byte(end), after}, nil), nil
}
