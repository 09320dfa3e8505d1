package server

import (
	"errors"
	"fmt"
	"strings"

	"github.com/muster-gg/muster/internal/journal"
)

// advise adds to an error that ends a service what its operator can do.
func advise(err error, data string) error {
	switch {
	case err == nil:
		return nil
	case isDiskFull(err):
		return fmt.Errorf("the disk is full: free some space for %s and start again; "+
			"everything acknowledged is stored: %w", data, err)
	case errors.Is(err, journal.ErrBroken):
		return fmt.Errorf("the disk of %s fails: repair it and start again: %w", data, err)
	case errors.Is(err, journal.ErrMissing):
		return fmt.Errorf("the data in %s is damaged: move it away, and restore a backup in its place (muster "+
			"restore) or start with an empty directory: %w", data, err)
	}
	return err
}

// isDiskFull checks the text, because the engine may return no more.
func isDiskFull(err error) bool {
	text := err.Error()
	// The second is Windows.
	return strings.Contains(text, "no space left") || strings.Contains(text, "not enough space")
}
