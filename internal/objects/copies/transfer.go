package copies

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// pieceSize is the size of a piece of a blob in an answer: small enough to leave room for the journal's messages on the
// same connections.
const pieceSize = 256 << 10

// window is how many pieces are on the way at once.
const window = 4

// Kinds of questions.
const (
	keepQuestion byte = 'k' // fetch and keep a blob
	readQuestion byte = 'r' // read a piece
)

// hashSize is the length of a hash in bytes.
const hashSize = 32

// A question is what one node asks another.
type question struct {
	kind   byte
	hash   string // SHA-256 in hex
	offset int64  // of the piece in bytes; 0 for keepQuestion
}

func (q question) encode() []byte {
	hash, _ := hex.DecodeString(q.hash) // it is the name of a blob
	data := append([]byte{q.kind}, hash...)
	return binary.BigEndian.AppendUint64(data, uint64(q.offset)) //nolint:gosec // not negative
}

var errMalformed = errors.New("malformed message of another node")

func decodeQuestion(data []byte) (q question, err error) {
	if len(data) != 1+hashSize+8 {
		return q, errMalformed
	}
	q = question{data[0], hex.EncodeToString(data[1 : 1+hashSize]),
		int64(binary.BigEndian.Uint64(data[1+hashSize:]))} //nolint:gosec // checked below
	if q.offset < 0 {
		return q, errMalformed
	}
	return q, nil
}

// The first byte of an answer.
const (
	answerOK     byte = '+' // the content follows
	answerAbsent byte = '0' // the node does not have the blob
	answerError  byte = '-' // a text follows
)

// Answer answers a question of another node.
func (c *Copies) Answer(ctx context.Context, data []byte) []byte {
	content, err := c.answer(ctx, data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []byte{answerAbsent}
	case err != nil:
		return append([]byte{answerError}, err.Error()...)
	}
	return append([]byte{answerOK}, content...)
}

func (c *Copies) answer(ctx context.Context, data []byte) (content []byte, err error) {
	if len(data) > 0 && data[0] == uploadQuestion {
		return c.answerUpload(ctx, data[1:])
	}
	q, err := decodeQuestion(data)
	if err != nil {
		return nil, err
	}
	switch q.kind {
	case keepQuestion:
		return nil, c.keep(ctx, q)
	case readQuestion:
		return c.read(q)
	}
	return nil, errMalformed
}

// keep fetches a blob, and keeps it from being swept until the reference to it is stored.
func (c *Copies) keep(ctx context.Context, q question) error {
	ctx, cancel := context.WithTimeout(ctx, keepLimit)
	defer cancel()
	if err := c.Fetch(ctx, q.hash); err != nil {
		return err
	}
	return c.Store.Renew(q.hash)
}

// read returns the size of a blob in 8 bytes, and a piece of it, which is shorter than pieceSize at its end.
func (c *Copies) read(q question) (content []byte, err error) {
	f, err := c.Store.OpenHere(q.hash)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	content = binary.BigEndian.AppendUint64(make([]byte, 0, 8+pieceSize), uint64(info.Size())) //nolint:gosec // a size
	length := max(0, min(pieceSize, info.Size()-q.offset))
	n, err := f.ReadAt(content[8:8+length], q.offset)
	return content[:8+n], err
}

func readAnswer(data []byte) (content []byte, err error) {
	switch {
	case len(data) == 0:
		return nil, errMalformed
	case data[0] == answerAbsent:
		return nil, fs.ErrNotExist
	case data[0] == answerError:
		return nil, errors.New(string(data[1:]))
	case data[0] != answerOK:
		return nil, errMalformed
	}
	return data[1:], nil
}

// copyFrom transfers a blob from a node.
func (c *Copies) copyFrom(node, hash string) error {
	w, err := c.Store.Create(0)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := c.writePieces(node, hash, w); err != nil {
		return err
	}
	if w.SHA256() != hash {
		return fmt.Errorf("it sent other bytes than those of %s", hash)
	}
	return w.Commit()
}

// writePieces writes the pieces of a blob in order, while the next ones are on the way.
func (c *Copies) writePieces(node, hash string, w io.Writer) error {
	ctx, cancel := context.WithCancel(c.done)
	defer cancel()
	first := c.askPiece(ctx, node, hash, 0)
	if first.err != nil {
		return first.err
	}
	if _, err := w.Write(first.bytes); err != nil {
		return err
	}
	var coming []chan piece
	for next := int64(pieceSize); next < first.size || len(coming) > 0; {
		for ; len(coming) < window && next < first.size; next += pieceSize {
			coming = append(coming, c.begin(ctx, node, hash, next))
		}
		p := <-coming[0]
		coming = coming[1:]
		if p.err != nil {
			return p.err
		}
		if _, err := w.Write(p.bytes); err != nil {
			return err
		}
	}
	return nil
}

// A piece is a part of a blob, or why it was not received.
type piece struct {
	bytes []byte
	size  int64 // of the blob in bytes
	err   error
}

// begin asks for a piece beside the caller.
func (c *Copies) begin(ctx context.Context, node, hash string, offset int64) chan piece {
	ch := make(chan piece, 1)
	go func() { ch <- c.askPiece(ctx, node, hash, offset) }()
	return ch
}

func (c *Copies) askPiece(ctx context.Context, node, hash string, offset int64) (p piece) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	answer, err := c.Peers.AskNode(ctx, node, question{readQuestion, hash, offset}.encode())
	if err != nil {
		return piece{err: err}
	}
	content, err := readAnswer(answer)
	if err == nil && len(content) < 8 {
		err = errMalformed
	}
	if err != nil {
		return piece{err: err}
	}
	size := int64(binary.BigEndian.Uint64(content)) //nolint:gosec // a wrong one leads to a wrong hash
	return piece{bytes: content[8:], size: size}
}
