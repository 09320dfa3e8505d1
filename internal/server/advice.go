package server

import (
	"errors"
	"fmt"
	"strings"

	"github.com/muster-gg/muster/internal/journal"
)

// advise adds to an error that ends a service what its operator can do about it.
func advise(err error, data string) error {
	switch {
	case err == nil:
		return nil
	case isDiskFull(err):
		return fmt.Errorf("the disk is full: free some space where %s is and start again; everything that was acknowledged is kept: %w", data, err)
	case errors.Is(err, journal.ErrBroken):
		return fmt.Errorf("the disk under %s fails: look after it and start again: %w", data, err)
	case errors.Is(err, journal.ErrMissing):
		return fmt.Errorf("what is stored in %s is damaged and gives no state: move it away, and restore a backup in its place (muster restore) or begin with nothing: %w", data, err)
	}
	return err
}

// isDiskFull goes by the text, as far as the engine passes on no more than that.
func isDiskFull(err error) bool {
	text := err.Error()
	return strings.Contains(text, "no space left") || strings.Contains(text, "not enough space") // the second is Windows
}
