package copies

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// pieceSize is the size of a piece of a file in an answer: small enough to leave room for the journal's messages on the
// same connections.
const pieceSize = 256 << 10

// window is how many pieces are on the way at once.
const window = 4

// Kinds of questions.
const (
	keepQuestion byte = 'k' // fetch and keep a file
	readQuestion byte = 'r' // read a piece
	haveQuestion byte = 'h' // which of the files named does the node have
	listQuestion byte = 'l' // which logs of an hour does the node have
)

// Kinds of files.
const (
	blobFiles  byte = 'b'
	chunkFiles byte = 'c'
	indexFiles byte = 'i'
	logFiles   byte = 'l'
)

const (
	// nameSize is the length of an encoded name in bytes.
	nameSize = 32
	// maxNames is the maximum number of names in a question.
	maxNames = 4096
	// pieceHead is what precedes a piece: size and time of the file.
	pieceHead = 16
)

// A question is what one node asks another about a file.
type question struct {
	kind   byte
	files  byte   // the kind of the file
	name   string // in hex
	offset int64  // of the piece in bytes; 0 for keepQuestion
}

func (q question) encode() []byte {
	return binary.BigEndian.AppendUint64(appendName([]byte{q.kind, q.files}, q.name),
		uint64(q.offset)) //nolint:gosec // not negative
}

func appendName(dst []byte, name string) []byte {
	raw, _ := hex.DecodeString(name) // it is the name of a file
	return append(dst, raw...)
}

var errMalformed = errors.New("malformed message of another node")

func decodeQuestion(data []byte) (q question, err error) {
	if len(data) != 2+nameSize+8 {
		return q, errMalformed
	}
	q = question{data[0], data[1], hex.EncodeToString(data[2 : 2+nameSize]),
		int64(binary.BigEndian.Uint64(data[2+nameSize:]))} //nolint:gosec // checked below
	if q.offset < 0 {
		return q, errMalformed
	}
	return q, nil
}

// encodeHave encodes a haveQuestion.
func encodeHave(files byte, names []string) []byte {
	data := []byte{haveQuestion, files}
	for _, name := range names {
		data = appendName(data, name)
	}
	return data
}

// decodeNames decodes names, and ignores what is left.
func decodeNames(data []byte) (names []string) {
	for ; len(data) >= nameSize; data = data[nameSize:] {
		names = append(names, hex.EncodeToString(data[:nameSize]))
	}
	return names
}

// The first byte of an answer.
const (
	answerOK     byte = '+' // the content follows
	answerAbsent byte = '0' // the node does not have the file
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
	if len(data) < 2 {
		return nil, errMalformed
	}
	switch data[0] {
	case uploadQuestion:
		return c.answerUpload(ctx, data[1:])
	case listQuestion:
		return c.listLogs(data[1:])
	}
	files := c.files(data[1])
	if files == nil {
		return nil, errMalformed
	}
	if data[0] == haveQuestion {
		return files.have(decodeNames(data[2:])), nil
	}
	q, err := decodeQuestion(data)
	switch {
	case err != nil:
		return nil, err
	case q.kind == keepQuestion:
		return nil, files.keep(ctx, q)
	case q.kind == readQuestion:
		return files.read(q)
	}
	return nil, errMalformed
}

// files returns the files of a kind; nil if there are none.
func (c *Copies) files(kind byte) *Files {
	for _, f := range []*Files{c.Files, c.Chunks, c.Indexes, c.ProcessLogs} {
		if f != nil && f.kind == kind {
			return f
		}
	}
	return nil
}

// have returns those of the names of files that this node has.
func (f *Files) have(names []string) (found []byte) {
	for _, name := range names {
		if f.here.Has(name) {
			found = appendName(found, name)
		}
	}
	return found
}

// keep fetches a file, and keeps it from being deleted until a blob is referred to.
func (f *Files) keep(ctx context.Context, q question) error {
	ctx, cancel := context.WithTimeout(ctx, keepLimit)
	defer cancel()
	if err := f.Fetch(ctx, q.name); err != nil {
		return err
	}
	return f.here.Renew(q.name)
}

// read returns size and time of a file in 8 bytes each, and a piece of it, which is shorter than pieceSize at its end.
func (f *Files) read(q question) (content []byte, err error) {
	file, err := f.here.OpenHere(q.name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	content = make([]byte, 0, pieceHead+pieceSize)
	content = binary.BigEndian.AppendUint64(content, uint64(info.Size()))               //nolint:gosec // a size
	content = binary.BigEndian.AppendUint64(content, uint64(info.ModTime().UnixNano())) //nolint:gosec // as bits
	length := max(0, min(pieceSize, info.Size()-q.offset))
	n, err := file.ReadAt(content[pieceHead:pieceHead+length], q.offset)
	return content[:pieceHead+n], err
}

// ask returns the content of another node's answer. The error names the node; it is fs.ErrNotExist if the node does not
// have the file.
func (c *Copies) ask(ctx context.Context, node string, question []byte) (content []byte, err error) {
	answer, err := c.Peers.AskNode(ctx, node, question)
	if err == nil {
		content, err = readAnswer(answer)
	}
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node, err)
	}
	return content, nil
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

// copyFrom transfers a file from a node.
func (f *Files) copyFrom(node, name string) error {
	ctx, cancel := context.WithCancel(f.all.done)
	defer cancel()
	first := f.askPiece(ctx, node, name, 0)
	if first.err != nil {
		return first.err
	}
	w, err := f.here.Receive(name, first.size, first.modified)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := w.Write(first.bytes); err != nil {
		return err
	}
	if err := f.writePieces(ctx, node, name, first, w); err != nil {
		return err
	}
	if err := w.Commit(); err != nil {
		return fmt.Errorf("copy from node %s: %w", node, err)
	}
	return nil
}

// writePieces writes the pieces of a file after the first one in order, while the next ones are on the way.
func (f *Files) writePieces(ctx context.Context, node, name string, first piece, w io.Writer) error {
	var coming []chan piece
	for next := int64(pieceSize); next < first.size || len(coming) > 0; {
		for ; len(coming) < window && next < first.size; next += pieceSize {
			coming = append(coming, f.begin(ctx, node, name, next))
		}
		p := <-coming[0]
		coming = coming[1:]
		if p.err != nil {
			return p.err
		}
		if f.kind == logFiles && !p.modified.Equal(first.modified) { // the others have hashes
			return fmt.Errorf("node %s: the file was replaced meanwhile", node)
		}
		if _, err := w.Write(p.bytes); err != nil {
			return err
		}
	}
	return nil
}

// A piece is a part of a file, or why it was not received.
type piece struct {
	bytes    []byte
	size     int64     // of the file in bytes
	modified time.Time // the file
	err      error
}

// begin asks for a piece beside the caller.
func (f *Files) begin(ctx context.Context, node, name string, offset int64) chan piece {
	ch := make(chan piece, 1)
	go func() { ch <- f.askPiece(ctx, node, name, offset) }()
	return ch
}

func (f *Files) askPiece(ctx context.Context, node, name string, offset int64) (p piece) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	content, err := f.all.ask(ctx, node, question{readQuestion, f.kind, name, offset}.encode())
	if err == nil && len(content) < pieceHead {
		err = errMalformed
	}
	if err != nil {
		return piece{err: err}
	}
	size := int64(binary.BigEndian.Uint64(content))      //nolint:gosec // a wrong one leads to a wrong file
	nanos := int64(binary.BigEndian.Uint64(content[8:])) //nolint:gosec // as bits
	return piece{bytes: content[pieceHead:], size: size, modified: time.Unix(0, nanos)}
}
