//go:build !linux

package usage

import "errors"

func cpu() (float64, error) { return 0, errors.ErrUnsupported }

func resident() (uint64, error) { return 0, errors.ErrUnsupported }
