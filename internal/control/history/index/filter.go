package index

import (
	"hash/maphash"
	"math/bits"
)

// A filter is a Bloom filter whose bits for one key are in one cache line. It grows: when a segment is full, another
// one follows, twice as large.
type filter struct {
	segments []segment
}

type segment struct {
	blocks []block
	free   int // how many more keys it takes
}

// A block is a cache line.
type block [8]uint64

const (
	keysPerBlock = 48 // 512 bits for 48 keys, so about 10.7 for each
	firstBlocks  = 1 << 8
	mostBlocks   = 1 << 17 // 8 MiB
	probes       = 6
)

// seed is that of all filters of the process.
var seed = maphash.MakeSeed()

func hash(key []byte) uint64 { return maphash.Bytes(seed, key) }

// add adds a key.
func (f *filter) add(h uint64) {
	last := len(f.segments) - 1
	if last < 0 || f.segments[last].free == 0 {
		blocks := firstBlocks
		if last >= 0 {
			blocks = min(2*len(f.segments[last].blocks), mostBlocks)
		}
		f.segments = append(f.segments, segment{make([]block, blocks), blocks * keysPerBlock})
		last++
	}
	s := &f.segments[last]
	s.free--
	b := s.block(h)
	for range probes {
		h = next(h)
		b[h>>6&7] |= 1 << (h & 63)
	}
}

// has reports whether a key may have been added.
func (f *filter) has(h uint64) bool {
	for i := range f.segments {
		if f.segments[i].has(h) {
			return true
		}
	}
	return false
}

func (s *segment) has(h uint64) bool {
	b := s.block(h)
	for range probes {
		h = next(h)
		if b[h>>6&7]&(1<<(h&63)) == 0 {
			return false
		}
	}
	return true
}

func (s *segment) block(h uint64) *block {
	at, _ := bits.Mul64(h, uint64(len(s.blocks)))
	return &s.blocks[at]
}

// next returns the next number of a sequence that depends on all bits of h.
func next(h uint64) uint64 {
	h *= 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// bytes returns the memory that the filter takes.
func (f *filter) bytes() (n int) {
	for _, s := range f.segments {
		n += len(s.blocks) * 64
	}
	return n
}
