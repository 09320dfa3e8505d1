package shard

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/muster-gg/muster/internal/event"
)

// snapshotMagic begins a snapshot: three letters and the version of the format.
const snapshotMagic = "MSS\x01"

const (
	frameSize = 64 << 10 // a frame is written when it reaches this size
	maxFrame  = 64 << 20 // larger ones are damaged: facts are much smaller
)

func writeSnapshot(w io.Writer, events *event.Set, snapshot func(write func(event.Fact) error) error) error {
	if _, err := io.WriteString(w, snapshotMagic); err != nil {
		return err
	}
	var frame bytes.Buffer
	count := uint64(0)
	flush := func() error {
		defer frame.Reset()
		return writeFrame(w, frame.Bytes())
	}
	err := snapshot(func(f event.Fact) error {
		count++
		if err := events.Append(&frame, f); err != nil {
			return err
		}
		if frame.Len() < frameSize {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	if frame.Len() > 0 {
		if err := flush(); err != nil {
			return err
		}
	}
	_, err = w.Write(binary.AppendUvarint([]byte{0}, count))
	return err
}

func writeFrame(w io.Writer, frame []byte) error {
	if len(frame) > maxFrame {
		return fmt.Errorf("snapshot frame of %d bytes is larger than %d", len(frame), maxFrame)
	}
	if _, err := w.Write(binary.AppendUvarint(nil, uint64(len(frame)))); err != nil {
		return err
	}
	_, err := w.Write(frame)
	return err
}

// ReadSnapshot calls restore with each fact of a snapshot, in order. The error has ErrUnreadable in its chain, unless
// the reader failed.
func ReadSnapshot(from io.Reader, events *event.Set, restore func(event.Fact) error) error {
	r := bufio.NewReaderSize(from, frameSize)
	magic := make([]byte, len(snapshotMagic))
	if _, err := io.ReadFull(r, magic); err != nil {
		return readError("beginning", err)
	}
	if string(magic) != snapshotMagic {
		return fmt.Errorf("%w: snapshot begins with %q", ErrUnreadable, magic)
	}
	var frame bytes.Buffer
	count := uint64(0)
	for {
		size, err := binary.ReadUvarint(r)
		if err != nil {
			return readError("frame's length", err)
		}
		if size == 0 {
			return checkCount(r, count)
		}
		if size > maxFrame {
			return fmt.Errorf("%w: snapshot frame of %d bytes", ErrUnreadable, size)
		}
		frame.Reset()
		// Allocates only what is read, whatever the length says.
		if _, err := io.CopyN(&frame, r, int64(size)); err != nil {
			return readError("frame", err)
		}
		err = eachFact(events, frame.Bytes(), func(f event.Fact) error {
			count++
			return restore(f)
		})
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
	}
}

func checkCount(r io.ByteReader, have uint64) error {
	want, err := binary.ReadUvarint(r)
	if err != nil {
		return readError("count", err)
	}
	if want != have {
		return fmt.Errorf("%w: snapshot has %d facts instead of %d", ErrUnreadable, have, want)
	}
	return nil
}

// readError distinguishes a truncated snapshot from a failed reader.
func readError(what string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: snapshot ends in its %s", ErrUnreadable, what)
	}
	return fmt.Errorf("snapshot %s: %w", what, err)
}
