package objects

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"strconv"
)

// An Algorithm is a checksum algorithm in S3's spelling.
type Algorithm string

// The supported algorithms. Source: Amazon S3 API reference, ChecksumAlgorithm.
const (
	CRC32     Algorithm = "CRC32"
	CRC32C    Algorithm = "CRC32C"
	CRC64NVME Algorithm = "CRC64NVME"
	SHA1      Algorithm = "SHA1"
	SHA256    Algorithm = "SHA256"
)

// Algorithms are all supported algorithms.
var Algorithms = []Algorithm{CRC32, CRC32C, CRC64NVME, SHA1, SHA256}

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	nvme       = crc64.MakeTable(0x9a6c9329ac4bc9b5) // Source: NVM Express NVM command set, 64b CRC; reversed
)

// New returns a hash of the algorithm; nil for one that is not supported.
func (a Algorithm) New() hash.Hash {
	switch a {
	case CRC32:
		return crc32.NewIEEE()
	case CRC32C:
		return crc32.New(castagnoli)
	case CRC64NVME:
		return crc64.New(nvme)
	case SHA1:
		return sha1.New()
	case SHA256:
		return sha256.New()
	default:
		return nil
	}
}

// Checksum returns the sum of h as S3 shows it.
func Checksum(h hash.Hash) string { return base64.StdEncoding.EncodeToString(h.Sum(nil)) }

// composite returns the checksum of checksums, as S3 shows it for an upload of several parts.
func (a Algorithm) composite(parts []Part) string {
	h := a.New()
	for _, p := range parts {
		sum, _ := base64.StdEncoding.DecodeString(p.Checksum) // made by Checksum
		h.Write(sum)
	}
	return Checksum(h) + "-" + strconv.Itoa(len(parts))
}
