package builds

import (
	"errors"
	"io"
	"sync"
)

const (
	averageChunk = 2 << 20 // bytes
	largestChunk = 4 << 20 // bytes

	// The boundary of a chunk is where the highest bits of the rolling hash are zero: more of them before the average
	// size than after it, so that the sizes are near the average. Source: W. Xia et al., "FastCDC: a Fast and Efficient
	// Content-Defined Chunking Approach for Data Deduplication", USENIX ATC 2016, section 4.
	strictMask = uint64(1<<23-1) << (64 - 23)
	looseMask  = uint64(1<<19-1) << (64 - 19)

	window = 64 // bytes that the rolling hash depends on
)

// gear has a number for each byte, of which the rolling hash is made. It never changes: chunks would have other
// boundaries, and would be sent again.
var gear = func() (table [256]uint64) {
	x := uint64(0)
	for i := range table { // SplitMix64
		x += 0x9e3779b97f4a7c15
		z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		table[i] = z ^ z>>31
	}
	return table
}()

// buffers are for calls of Split: most files are small.
var buffers = sync.Pool{New: func() any {
	buffer := make([]byte, MaxChunk+1)
	return &buffer
}}

// Split reads a file and calls yield with each of its chunks, which is valid during the call. A file of at most
// MaxChunk bytes is one chunk. The boundaries within a larger one depend on the bytes near them alone, so a change
// moves only those nearby. Chunks have 1 to 4 MiB, except the last. An empty file has none.
func Split(r io.Reader, yield func(chunk []byte) error) error {
	kept := buffers.Get().(*[]byte)
	defer buffers.Put(kept)
	buffer := *kept
	n, err := readFull(r, buffer)
	if err != nil {
		return err
	}
	if n <= MaxChunk {
		if n == 0 {
			return nil
		}
		return yield(buffer[:n])
	}
	for n > 0 {
		size := boundary(buffer[:n])
		if err := yield(buffer[:size]); err != nil {
			return err
		}
		n = copy(buffer, buffer[size:n])
		more, err := readFull(r, buffer[n:])
		if err != nil {
			return err
		}
		n += more
	}
	return nil
}

// readFull reads until the buffer is full or the file ends.
func readFull(r io.Reader, buffer []byte) (int, error) {
	n, err := io.ReadFull(r, buffer)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

// boundary returns the size of the first chunk of data.
func boundary(data []byte) int {
	if len(data) <= minChunk {
		return len(data)
	}
	data = data[:min(len(data), largestChunk)]
	hash := uint64(0)
	at := minChunk - window
	for ; at < minChunk; at++ {
		hash = hash<<1 + gear[data[at]]
	}
	for ; at < min(len(data), averageChunk); at++ {
		if hash&strictMask == 0 {
			return at
		}
		hash = hash<<1 + gear[data[at]]
	}
	for ; at < len(data); at++ {
		if hash&looseMask == 0 {
			return at
		}
		hash = hash<<1 + gear[data[at]]
	}
	return len(data)
}
